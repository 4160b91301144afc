#include "backends/softnic/wire/roce_packet.h"

#include <cstring>

#include "core/base/assert.h"
#include "core/base/bits.h"

namespace gdakit::softnic::roce {
namespace {

constexpr std::uint32_t kLow24 = 0xffffff;
constexpr std::size_t kAlignment = 4;  // of a packet's size

// Bits of Bth::flags.
constexpr std::uint8_t kSolicited = 0x80;
constexpr std::uint8_t kMigrated = 0x40;
constexpr std::uint8_t kVersionMask = 0x0f;
constexpr unsigned kPaddingShift = 4;
constexpr std::uint8_t kPaddingMask = 3;
// Of Bth::qpn and Bth::psn.
constexpr std::uint32_t kFecn = 0x80000000;
constexpr std::uint32_t kBecn = 0x40000000;
constexpr std::uint32_t kAckRequest = 0x80000000;

class Reader {
 public:
  explicit Reader(const std::uint8_t* from) : at_(from) {}
  template <class Layout>
  Layout take() {
    Layout layout;
    std::memcpy(&layout, at_, sizeof layout);
    at_ += sizeof layout;
    return layout;
  }
  const std::uint8_t* at() const { return at_; }

 private:
  const std::uint8_t* at_;
};

class Writer {
 public:
  explicit Writer(std::uint8_t* to) : at_(to) {}
  template <class Layout>
  void put(const Layout& layout) {
    put(&layout, sizeof layout);
  }
  void put(const void* bytes, std::size_t size) {
    if (size != 0) std::memcpy(at_, bytes, size);
    at_ += size;
  }

 private:
  std::uint8_t* at_;
};

// The headers behind the BTH, in their order.
void read_extensions(Reader& reader, const Extensions& extensions, RocePacket& packet) {
  if (extensions.has(Extension::feth)) packet.flush = reader.take<Be32>();
  if (extensions.has(Extension::deth)) {
    const auto deth = reader.take<DethLayout>();
    packet.deth = {deth.qkey, deth.source_qpn & kLow24};
  }
  if (extensions.has(Extension::dceth)) {
    packet.dc_qpn = reader.take<DethLayout>().source_qpn & kLow24;
  }
  if (extensions.has(Extension::dcceth)) {
    const auto connect = reader.take<DccethLayout>();
    packet.dc_connect = {connect.access_key.value(), connect.connection.value()};
  }
  if (extensions.has(Extension::xrceth)) packet.xrc_srq = reader.take<Be32>() & kLow24;
  if (extensions.has(Extension::reth)) {
    const auto reth = reader.take<RethLayout>();
    packet.reth = {reth.address.value(), reth.rkey, reth.length};
  }
  if (extensions.has(Extension::atomic_eth)) {
    const auto atomic = reader.take<AtomicEthLayout>();
    packet.atomic = {atomic.address.value(), atomic.rkey, atomic.swap_add.value(),
                     atomic.compare.value()};
  }
  if (extensions.has(Extension::aeth)) {
    const std::uint32_t word = reader.take<AethLayout>().word;
    packet.aeth = {static_cast<std::uint8_t>(word >> 24), word & kLow24};
  }
  if (extensions.has(Extension::atomic_ack_eth)) {
    packet.atomic_original = reader.take<Be64Halves>().value();
  }
  if (extensions.has(Extension::imm)) packet.imm = reader.take<std::uint32_t>();
  if (extensions.has(Extension::ieth)) packet.invalidate = reader.take<Be32>();
  if (extensions.has(Extension::masked_eth)) {
    const auto masked = reader.take<MaskedEthLayout>();
    packet.masked = {masked.size, masked.swap_mask.value(), masked.compare_mask.value(),
                     masked.boundary.value()};
  }
}

void write_extensions(Writer& writer, const Extensions& extensions, const RocePacket& packet) {
  if (extensions.has(Extension::feth)) writer.put(Be32{packet.flush});
  if (extensions.has(Extension::deth)) {
    writer.put(DethLayout{Be32{packet.deth.qkey}, Be32{packet.deth.source_qpn & kLow24}});
  }
  if (extensions.has(Extension::dceth)) {
    writer.put(DethLayout{Be32{0}, Be32{packet.dc_qpn & kLow24}});
  }
  if (extensions.has(Extension::dcceth)) {
    writer.put(DccethLayout{halves_of(packet.dc_connect.access_key),
                            halves_of(packet.dc_connect.connection)});
  }
  if (extensions.has(Extension::xrceth)) writer.put(Be32{packet.xrc_srq & kLow24});
  if (extensions.has(Extension::reth)) {
    const Reth& reth = packet.reth;
    writer.put(RethLayout{halves_of(reth.address), Be32{reth.rkey}, Be32{reth.length}});
  }
  if (extensions.has(Extension::atomic_eth)) {
    const AtomicEth& atomic = packet.atomic;
    writer.put(AtomicEthLayout{halves_of(atomic.address), Be32{atomic.rkey},
                               halves_of(atomic.swap_add), halves_of(atomic.compare)});
  }
  if (extensions.has(Extension::aeth)) {
    const std::uint32_t syndrome = packet.aeth.syndrome;
    writer.put(AethLayout{Be32{(syndrome << 24) | (packet.aeth.msn & kLow24)}});
  }
  if (extensions.has(Extension::atomic_ack_eth)) writer.put(halves_of(packet.atomic_original));
  if (extensions.has(Extension::imm)) writer.put(packet.imm);
  if (extensions.has(Extension::ieth)) writer.put(Be32{packet.invalidate});
  if (extensions.has(Extension::masked_eth)) {
    const MaskedEth& masked = packet.masked;
    writer.put(MaskedEthLayout{Be32{masked.size}, halves_of(masked.swap_mask),
                               halves_of(masked.compare_mask), halves_of(masked.boundary)});
  }
}

std::size_t padding_of(std::size_t payload) { return round_up(payload, kAlignment) - payload; }

Bth bth_of(const RocePacket& packet) {
  Bth bth{};
  bth.opcode = packet.opcode;
  bth.flags = static_cast<std::uint8_t>((packet.solicited ? kSolicited : 0) |
                                        (packet.migrated ? kMigrated : 0) |
                                        (padding_of(packet.payload.size()) << kPaddingShift));
  bth.pkey = Be16{packet.pkey};
  bth.qpn = Be32{(packet.destination_qpn & kLow24) | (packet.fecn ? kFecn : 0) |
                 (packet.becn ? kBecn : 0)};
  bth.psn = Be32{(packet.psn & kLow24) | (packet.ack_request ? kAckRequest : 0)};
  return bth;
}

void take_bth(const Bth& bth, RocePacket& packet) {
  packet.opcode = bth.opcode;
  packet.solicited = (bth.flags & kSolicited) != 0;
  packet.migrated = (bth.flags & kMigrated) != 0;
  packet.pkey = bth.pkey;
  packet.fecn = (bth.qpn & kFecn) != 0;
  packet.becn = (bth.qpn & kBecn) != 0;
  packet.destination_qpn = bth.qpn & kLow24;
  packet.ack_request = (bth.psn & kAckRequest) != 0;
  packet.psn = bth.psn & kLow24;
}

bool is_within_limits(std::uint8_t opcode, std::size_t payload) {
  const PayloadLimits limits = payload_limits(opcode);
  return payload >= limits.least && payload <= limits.most;
}

// Small packets are copied, for their bytes to be one piece: a call for each of two would cost
// more.
std::uint32_t icrc_of(std::span<const std::uint8_t> packet, Icrc icrc) {
  Bth bth;
  std::memcpy(&bth, packet.data(), sizeof bth);
  const auto behind = packet.subspan(sizeof bth, packet.size() - sizeof bth - kIcrcBytes);
  std::array<std::uint8_t, 128> copy;
  if (behind.size() > copy.size() - sizeof bth) {
    icrc.add_bth(bth);
    icrc.add(behind);
    return icrc.value();
  }
  bth = Icrc::masked(bth);
  std::memcpy(copy.data(), &bth, sizeof bth);
  if (!behind.empty()) std::memcpy(copy.data() + sizeof bth, behind.data(), behind.size());
  icrc.add(copy.data(), sizeof bth + behind.size());
  return icrc.value();
}

bool has_right_icrc(std::span<const std::uint8_t> datagram, Icrc start, IcrcNumbers* numbers) {
  std::uint32_t told;  // every processor that gdakit runs on is little-endian, as this is
  std::memcpy(&told, datagram.data() + datagram.size() - kIcrcBytes, sizeof told);
  const std::uint32_t difference = told ^ icrc_of(datagram, start);
  if (difference == 0) return true;
  return numbers != nullptr && numbers->explain(difference, datagram.size());
}

bool has_packets_size(std::size_t size) {
  return size >= sizeof(Bth) + kIcrcBytes && size <= kMaxPacketBytes && size % kAlignment == 0;
}

std::size_t size_with(const RocePacket& packet, const std::optional<Extensions>& extensions) {
  GDAKIT_ASSERT(extensions && is_within_limits(packet.opcode, packet.payload.size()));
  const std::size_t size =
      sizeof(Bth) + extensions->bytes() + round_up(packet.payload.size(), kAlignment) + kIcrcBytes;
  GDAKIT_ASSERT(size <= kMaxPacketBytes);
  return size;
}

}  // namespace

Damage decode(std::span<const std::uint8_t> datagram, const UdpWay& way, RocePacket& packet) {
  if (!has_packets_size(datagram.size())) return Damage::length;
  return decode(datagram, Icrc(way, datagram.size()), packet);
}

Damage decode(std::span<const std::uint8_t> datagram, Icrc start, RocePacket& packet,
              IcrcNumbers* numbers) {
  const std::size_t size = datagram.size();
  if (!has_packets_size(size)) return Damage::length;
  if (!has_right_icrc(datagram, start, numbers)) return Damage::icrc;
  Reader reader(datagram.data());
  const auto bth = reader.take<Bth>();
  if ((bth.flags & kVersionMask) != 0) return Damage::version;
  const auto extensions = extensions_of(bth.opcode, (bth.flags & kSolicited) != 0);
  if (!extensions) return Damage::opcode;
  const std::size_t around = sizeof(Bth) + extensions->bytes() + kIcrcBytes;
  if (size < around) return Damage::length;
  const std::size_t padding = bth.flags >> kPaddingShift & kPaddingMask;
  if (padding > size - around) return Damage::padding;
  if (!is_within_limits(bth.opcode, size - around - padding)) return Damage::payload;
  take_bth(bth, packet);
  read_extensions(reader, *extensions, packet);
  packet.payload = {reader.at(), size - around - padding};
  return Damage::none;
}

std::size_t size_of(const RocePacket& packet) {
  return size_with(packet, extensions_of(packet.opcode, packet.solicited));
}

std::size_t encode(const RocePacket& packet, const UdpWay& way, std::span<std::uint8_t> out) {
  const std::size_t size = size_of(packet);
  GDAKIT_ASSERT(out.size() >= size);
  encode(packet, Icrc(way, size), out.first(size));
  return size;
}

void encode(const RocePacket& packet, Icrc start, std::span<std::uint8_t> out) {
  const auto extensions = extensions_of(packet.opcode, packet.solicited);
  GDAKIT_ASSERT(out.size() == size_with(packet, extensions));
  Writer writer(out.data());
  writer.put(bth_of(packet));
  write_extensions(writer, *extensions, packet);
  writer.put(packet.payload.data(), packet.payload.size());
  constexpr std::array<std::uint8_t, kAlignment> kZero = {};
  writer.put(kZero.data(), padding_of(packet.payload.size()));
  writer.put(icrc_of(out, start));
}

}  // namespace gdakit::softnic::roce
