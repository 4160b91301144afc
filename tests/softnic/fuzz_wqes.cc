#include "tests/softnic/fuzz_wqes.h"

#include <algorithm>
#include <array>

#include "tests/softnic/fuzz_dc.h"

namespace gdakit::softnic::test {
namespace {

using format::Opcode;

constexpr std::array<Opcode, 13> kOpcodes = {
    Opcode::nop,        Opcode::rdma_write, Opcode::rdma_write_imm,   Opcode::send,
    Opcode::send_imm,   Opcode::rdma_read,  Opcode::atomic_cs,        Opcode::atomic_fa,
    Opcode::rdma_write, Opcode::dump,       Opcode::atomic_masked_cs, Opcode::atomic_masked_fa,
    Opcode::umr};

std::uint32_t some_size(Input& input) {
  return input.take<std::uint8_t>() % 16 == 0 ? input.take<std::uint32_t>() : input.below(512);
}

// The body of a WQE that gives the list key other parts, which lie in it or in memory.
std::vector<format::Segment> some_umr(Input& input, const FuzzSide& side) {
  ListChange change{.key = side.keys[kListKey], .entries = some_entries(input, side)};
  for (const KeyListEntry& entry : change.entries) change.length += entry.byte_count;
  change.rights = input.take<std::uint8_t>();
  Umr umr = list_umr(change);
  const bool is_elsewhere = input.below(2) == 0;
  if (is_elsewhere) {
    umr.control.flags = 0;
    const format::DataSegment at = some_data(input, side);
    const auto bytes = static_cast<std::uint32_t>(umr.list.size() * sizeof(KeyListEntry));
    umr.list = {klm(at.lkey, at.addr, input.below(8) == 0 ? at.byte_count : Be32{bytes})};
  }
  std::vector<format::Segment> segments = umr.segments();
  if (is_elsewhere) segments.resize(8);
  return segments;
}

// With its control segment, and now and then a byte of it changed.
void write_wqe(Input& input, FuzzSide& side, std::vector<format::Segment>& segments, Opcode opcode,
               std::uint8_t opmod, std::uint32_t imm) {
  const auto flags = input.take<std::uint8_t>();
  const auto ds = static_cast<std::uint32_t>(std::min<std::size_t>(segments.size(), 63));
  segments[0] = format::to_segment(format::control(opcode, opmod, format::wire_index(side.producer),
                                                   side.qpn, ds, flags, Be32{imm}));
  if (input.below(32) == 0) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(segments.data());
    const std::uint32_t at = input.below(static_cast<std::uint32_t>(segments.size() * 16));
    bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ input.take<std::uint8_t>());
  }
  side.write_segments(segments);
  side.producer += format::wqebbs_of(ds);
}

}  // namespace

std::uint64_t some_address(Input& input, const FuzzSide& side, std::uint32_t key) {
  const std::uint64_t offset = input.take<std::uint8_t>() % 8 == 0
                                   ? input.take<std::uint64_t>()
                                   : input.below(kRegion + 16) & ~std::uint64_t{input.below(2) * 7};
  return side.iova(key) + offset;
}

MemoryKey some_key(Input& input, const FuzzSide& side, std::uint32_t key) {
  const MemoryKey right = side.keys[key];
  return input.take<std::uint8_t>() % 16 == 0 ? right ^ input.take<std::uint32_t>() : right;
}

format::DataSegment some_data(Input& input, const FuzzSide& side) {
  const std::uint32_t region = input.below(kKeys);
  const std::uint64_t address = some_address(input, side, region);
  const MemoryKey key = some_key(input, side, region);
  return format::data(address, Be32{key}, some_size(input));
}

SrqNumber some_srq(Input& input, const FuzzSide& peer) {
  const std::uint32_t chance = input.below(16);
  return chance == 0 ? input.take<std::uint32_t>() & 0xffffff
                     : peer.named_srq + (chance == 1 ? 1 : 0);
}

std::vector<KeyListEntry> some_entries(Input& input, const FuzzSide& side) {
  std::vector<KeyListEntry> entries;
  for (std::uint32_t i = 1 + input.below(8); i != 0; --i) {
    const format::DataSegment part = some_data(input, side);
    entries.push_back(klm(part.lkey, part.addr, part.byte_count));
  }
  return entries;
}

void post_some(Input& input, FuzzSide& side, const FuzzSide& peer) {
  const Opcode opcode = kOpcodes[input.below(kOpcodes.size())];
  std::vector<format::Segment> segments(1);
  const bool sends = opcode == Opcode::send || opcode == Opcode::send_imm || opcode == Opcode::dump;
  std::uint8_t opmod = 0;
  if (opcode == Opcode::umr) {
    const auto umr = some_umr(input, side);
    segments.insert(segments.end(), umr.begin(), umr.end());
    write_wqe(input, side, segments, opcode, opmod, side.keys[kListKey]);
    return;
  }
  const bool goes_to_peer = opcode != Opcode::nop && opcode != Opcode::dump;
  if (side.kind == FuzzKind::initiator && goes_to_peer) {
    segments.push_back(format::to_segment(format::XrcSegment{Be32{some_srq(input, peer)}, {}}));
  }
  if (side.kind == FuzzKind::dc && goes_to_peer) {
    const auto av = some_av(input, peer);
    segments.insert(segments.end(), av.begin(), av.end());
  }
  if (!sends && opcode != Opcode::nop) {
    const std::uint32_t region = input.below(kKeys);
    const std::uint64_t address = some_address(input, peer, region);
    segments.push_back(
        format::to_segment(format::remote_address(address, Be32{some_key(input, peer, region)})));
  }
  if (opcode >= Opcode::atomic_cs && opcode <= Opcode::atomic_masked_fa) {
    const bool masked = opcode >= Opcode::atomic_masked_cs;
    if (masked) opmod = input.below(2) == 0 ? format::kOpmodAtomic4 : format::kOpmodAtomic8;
    segments.push_back(input.take<format::Segment>());
    if (opcode == Opcode::atomic_masked_cs && opmod == format::kOpmodAtomic8) {
      segments.push_back(input.take<format::Segment>());
    }
    segments.push_back(format::to_segment(some_data(input, side)));
  } else if (opcode != Opcode::nop) {
    for (std::uint32_t i = input.below(6); i != 0; --i) {
      if (input.below(4) == 0) {
        const auto more = inline_segments(std::vector<std::uint8_t>(input.below(90), 0x11));
        segments.insert(segments.end(), more.begin(), more.end());
      } else {
        segments.push_back(format::to_segment(some_data(input, side)));
      }
    }
  }
  write_wqe(input, side, segments, opcode, opmod, 0x1234);
}

void post_rubbish(Input& input, FuzzSide& side) {
  std::vector<format::Segment> segments(1 + input.below(8));
  for (format::Segment& segment : segments) segment = input.take<format::Segment>();
  if (input.below(2) == 0) {
    const auto opcode = static_cast<Opcode>(input.take<std::uint8_t>());
    segments[0] = format::to_segment(format::control(opcode, input.take<std::uint8_t>(),
                                                     format::wire_index(side.producer), side.qpn,
                                                     input.below(64), input.take<std::uint8_t>()));
  }
  side.write_segments(segments);
  side.producer += 1 + input.below(3);
}

}  // namespace gdakit::softnic::test
