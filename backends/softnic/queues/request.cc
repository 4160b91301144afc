#include "backends/softnic/queues/request.h"

#include <algorithm>
#include <cstring>

#include "backends/softnic/queues/load_segment.h"
#include "backends/softnic/queues/umr.h"
#include "core/base/bits.h"
#include "core/format/address_vector.h"

namespace gdakit::softnic {
namespace {

using format::Opcode;

// Offsets in bytes within a WQE.
constexpr std::uint32_t kRemoteAddressEnd =
    sizeof(format::ControlSegment) + sizeof(format::RemoteAddressSegment);
constexpr std::uint64_t kLongestByteCount = std::uint64_t{1} << 31;

// Whether the WQE makes packets.
constexpr bool goes_to_peer(Opcode opcode) {
  return opcode != Opcode::nop && opcode != Opcode::dump && opcode != Opcode::umr;
}

class Decoder {
 public:
  Decoder(const std::uint8_t* wqe, const WqePlace& place, Request& request)
      : wqe_(wqe), place_(place), request_(request) {}

  Fault run();

 private:
  Fault decode_opcode(const format::ControlSegment& control);
  Fault decode_remote(RequestKind kind);
  Fault read_address(std::uint32_t& bytes);
  Fault decode_datagram();
  Fault pass_prefix();
  Fault pass_xrc_segment();
  Fault pass_address();
  void pass(std::uint32_t bytes);
  Fault decode_atomic(std::uint8_t opmod);
  Fault decode_masked_operands(std::uint8_t opmod);
  Fault decode_data(std::uint32_t at, bool allow_inline);
  Fault add_inline(std::uint32_t& at);
  void add_in_queue(std::uint32_t at, std::uint32_t size);

  const std::uint8_t* wqe_;
  const WqePlace& place_;
  Request& request_;
  std::uint32_t end_ = 0;  // of the WQE, in bytes
  // How far wqe_ is behind the WQE: past the XRC segment or, of DC, the address vector, behind
  // which it is as one of RC.
  std::uint32_t passed_ = 0;
};

Fault Decoder::run() {
  const auto control = load<format::ControlSegment>(wqe_);
  const std::uint32_t ds = control.ds();
  const std::uint32_t wqebbs = std::max(1u, format::wqebbs_of(ds));
  request_.opcode = static_cast<Opcode>(control.opcode());
  request_.completion = control.completion();
  request_.fence = control.fence_mode();
  request_.solicited = control.solicited();
  request_.wqebbs = static_cast<std::uint8_t>(std::min(wqebbs, place_.available_wqebbs));
  request_.kind = RequestKind::nop;
  request_.xrc_srq = 0;
  request_.has_imm = false;
  request_.invalidates = false;
  request_.imm = control.imm;
  request_.length = 0;
  request_.small = nullptr;
  request_.sge_count = 0;
  // An index of another lap is a WQE that was never written.
  const bool stale = control.wqe_index() != static_cast<std::uint16_t>(place_.index);
  if (stale || control.qpn() != place_.qpn || ds == 0 || wqebbs > place_.available_wqebbs) {
    return kMalformedWqe;
  }
  end_ = ds * format::kSegmentBytes;
  if (const Fault fault = decode_opcode(control)) return fault;
  if (request_.length > std::uint64_t{1} << place_.log_msg_max) return kLocalLength;
  return {};
}

Fault Decoder::decode_opcode(const format::ControlSegment& control) {
  const bool masked =
      request_.opcode == Opcode::atomic_masked_cs || request_.opcode == Opcode::atomic_masked_fa;
  if (!masked && control.opmod() != 0) return kMalformedWqe;
  if (place_.service >= ServiceType::xrc && goes_to_peer(request_.opcode)) {
    if (const Fault fault = pass_prefix()) return fault;
  }
  switch (request_.opcode) {
    // A NOP's body is never looked at: clients leave stale bytes there.
    case Opcode::nop: return {};
    case Opcode::rdma_write_imm: request_.has_imm = true; [[fallthrough]];
    case Opcode::rdma_write: return decode_remote(RequestKind::write);
    case Opcode::rdma_read: return decode_remote(RequestKind::read);
    case Opcode::send_inval: request_.invalidates = true; [[fallthrough]];
    case Opcode::send_imm: request_.has_imm = true; [[fallthrough]];
    case Opcode::send:
      request_.kind = RequestKind::send;
      if (place_.service == ServiceType::ud) return decode_datagram();
      return decode_data(sizeof(format::ControlSegment), /*allow_inline=*/true);
    case Opcode::dump:
      request_.kind = RequestKind::dump;
      return decode_data(sizeof(format::ControlSegment), /*allow_inline=*/false);
    case Opcode::umr:
      request_.kind = RequestKind::key_change;
      request_.key_change = std::make_unique<KeyChange>();
      return decode_key_change(wqe_, end_, *request_.key_change);
    case Opcode::atomic_cs:
    case Opcode::atomic_fa:
    case Opcode::atomic_masked_cs:
    case Opcode::atomic_masked_fa: return decode_atomic(control.opmod());
  }
  return kMalformedWqe;
}

// What stands between the control segment and a request as RC has it.
Fault Decoder::pass_prefix() {
  return place_.service == ServiceType::dc ? pass_address() : pass_xrc_segment();
}

void Decoder::pass(std::uint32_t bytes) {
  passed_ = bytes;
  wqe_ += bytes;
  end_ -= bytes;
}

Fault Decoder::pass_xrc_segment() {
  if (end_ < sizeof(format::ControlSegment) + sizeof(format::XrcSegment)) return kMalformedWqe;
  const auto xrc = load<format::XrcSegment>(wqe_ + sizeof(format::ControlSegment));
  request_.xrc_srq = xrc.srqn & 0xffffff;
  pass(sizeof xrc);
  return {};
}

Fault Decoder::pass_address() {
  std::uint32_t bytes = 0;
  if (const Fault fault = read_address(bytes)) return fault;
  pass(bytes);
  return {};
}

// The address vector behind the control segment, of so many bytes.
Fault Decoder::read_address(std::uint32_t& bytes) {
  constexpr std::uint32_t kAt = sizeof(format::ControlSegment);
  if (end_ < kAt + format::kShortAvBytes) return kMalformedWqe;
  format::AvSegment av{};
  std::memcpy(&av, wqe_ + kAt, format::kShortAvBytes);
  const bool is_long = (av.dqp_dct & format::kExtendedAv) != 0;
  bytes = static_cast<std::uint32_t>(is_long ? sizeof av : format::kShortAvBytes);
  if (end_ < kAt + bytes) return kMalformedWqe;
  std::memcpy(&av, wqe_ + kAt, bytes);
  AddressVector& address = request_.address;
  address.lid = av.rlid;
  address.qpn = av.dqp_dct & 0xffffff;
  address.qkey = av.qkey;
  address.dc_key = format::dc_key(av);
  address.service_level = av.stat_rate_sl & 0xf;
  address.traffic_class = av.tclass;
  std::memcpy(address.gid.data(), av.rgid, address.gid.size());
  return {};
}

Fault Decoder::decode_datagram() {
  std::uint32_t av_bytes = 0;
  if (const Fault fault = read_address(av_bytes)) return fault;
  return decode_data(sizeof(format::ControlSegment) + av_bytes, /*allow_inline=*/true);
}

Fault Decoder::decode_remote(RequestKind kind) {
  if (end_ < kRemoteAddressEnd) return kMalformedWqe;
  request_.kind = kind;
  const auto remote = load<format::RemoteAddressSegment>(wqe_ + sizeof(format::ControlSegment));
  request_.remote_address = remote.raddr;
  request_.rkey = remote.rkey;
  return decode_data(kRemoteAddressEnd, /*allow_inline=*/kind == RequestKind::write);
}

Fault Decoder::decode_masked_operands(std::uint8_t opmod) {
  AtomicRequest& atomic = request_.atomic;
  const std::uint8_t* at = wqe_ + kRemoteAddressEnd;
  if (opmod == format::kOpmodAtomic4) {
    atomic.size = 4;
    if (atomic.kind == AtomicKind::compare_swap) {
      const auto cs = load<format::MaskedAtomic4CsSegment>(at);
      atomic.swap_add = cs.swap_data;
      atomic.compare = cs.compare_data;
      atomic.swap_mask = cs.swap_mask;
      atomic.compare_mask = cs.compare_mask;
    } else {
      const auto fa = load<format::MaskedAtomic4FaSegment>(at);
      atomic.swap_add = fa.add_data;
      atomic.boundary = fa.field_boundary;
    }
    return {};
  }
  if (opmod != format::kOpmodAtomic8) return kMalformedWqe;
  if (atomic.kind == AtomicKind::compare_swap) {
    const auto cs = load<format::MaskedAtomic8CsSegment>(at);
    atomic.swap_add = cs.swap_add;
    atomic.compare = cs.compare;
    atomic.swap_mask = cs.swap_add_mask;
    atomic.compare_mask = cs.compare_mask;
  } else {
    const auto fa = load<format::MaskedAtomic8FaSegment>(at);
    atomic.swap_add = fa.add_data;
    atomic.boundary = fa.field_boundary;
  }
  return {};
}

Fault Decoder::decode_atomic(std::uint8_t opmod) {
  const bool wide = request_.opcode == Opcode::atomic_masked_cs && opmod == format::kOpmodAtomic8;
  const std::uint32_t data_at = kRemoteAddressEnd + (wide ? 2 : 1) * format::kSegmentBytes;
  if (end_ != data_at + sizeof(format::DataSegment)) return kMalformedWqe;
  AtomicRequest& atomic = request_.atomic = {};
  const bool swaps =
      request_.opcode == Opcode::atomic_cs || request_.opcode == Opcode::atomic_masked_cs;
  atomic.kind = swaps ? AtomicKind::compare_swap : AtomicKind::fetch_add;
  if (request_.opcode == Opcode::atomic_cs || request_.opcode == Opcode::atomic_fa) {
    const auto operands = load<format::AtomicSegment>(wqe_ + kRemoteAddressEnd);
    atomic.swap_add = operands.swap_add;
    atomic.compare = operands.compare;
    atomic.swap_mask = atomic.compare_mask = ~std::uint64_t{0};
  } else if (const Fault fault = decode_masked_operands(opmod)) {
    return fault;
  }
  request_.kind = RequestKind::atomic;
  const auto remote = load<format::RemoteAddressSegment>(wqe_ + sizeof(format::ControlSegment));
  request_.remote_address = remote.raddr;
  request_.rkey = remote.rkey;
  if (const Fault fault = decode_data(data_at, /*allow_inline=*/false)) return fault;
  if (request_.length < atomic.size) return kLocalLength;
  // What is scattered is the word, however much room the data segment has.
  request_.sges[0].size = atomic.size;
  request_.length = atomic.size;
  return {};
}

void Decoder::add_in_queue(std::uint32_t at, std::uint32_t size) {
  const std::uint64_t offset =
      (place_.index * format::kWqebbBytes + passed_ + at) & (place_.queue_bytes - 1);
  const auto piece =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(size, place_.queue_bytes - offset));
  request_.sges[request_.sge_count++] = {0, place_.queue + offset, piece, 0, true};
  if (piece != size) {
    request_.sges[request_.sge_count++] = {0, place_.queue, size - piece, 0, true};
  }
}

Fault Decoder::add_inline(std::uint32_t& at) {
  const std::uint32_t header = load<Be32>(wqe_ + at);
  const std::uint32_t length = header & ~format::kInline;
  const std::uint32_t data_at = at + static_cast<std::uint32_t>(sizeof(format::InlineSegment));
  if (length > format::kMaxInlineLength || length > end_ - data_at) return kMalformedWqe;
  const bool whole_message = request_.sge_count == 0 && length <= 64 &&
                             round_up(data_at + length, format::kSegmentBytes) == end_;
  if (whole_message) request_.small = wqe_ + data_at;
  if (length != 0) add_in_queue(data_at, length);
  request_.length += length;
  at = static_cast<std::uint32_t>(round_up(data_at + length, format::kSegmentBytes));
  return {};
}

Fault Decoder::decode_data(std::uint32_t at, bool allow_inline) {
  while (at < end_) {
    const auto data = load<format::DataSegment>(wqe_ + at);
    if ((data.byte_count & format::kInline) != 0) {
      if (!allow_inline) return kMalformedWqe;
      if (const Fault fault = add_inline(at)) return fault;
      continue;
    }
    const std::uint64_t size = data.byte_count == 0 ? kLongestByteCount : data.byte_count;
    request_.sges[request_.sge_count++] = {
        data.addr, {}, static_cast<std::uint32_t>(size), data.lkey};
    request_.length += size;
    at += sizeof data;
  }
  return {};
}

}  // namespace

Fault decode(const std::uint8_t* wqe, const WqePlace& place, Request& request) {
  return Decoder(wqe, place, request).run();
}

Fault resolve_sges(const KeyTable& keys, PdNumber pd, QpNumber qpn, Access wanted,
                   Request& request) {
  for (std::uint32_t i = 0; i < request.sge_count; ++i) {
    Sge& sge = request.sges[i];
    if (sge.in_queue) continue;
    const Translation found = keys.translate(sge.lkey, pd, qpn, sge.iova, sge.size, wanted);
    if (found.fault != KeyFault::none) return kLocalProtection;
    sge.place = found.piece.base;
    sge.in_pieces = found.piece.length != sge.size || found.region != 0;
  }
  return {};
}

}  // namespace gdakit::softnic
