// Requests as they arrive: sequence, rights, and their effect on memory.
#include "backends/softnic/transport/responder.h"

#include <algorithm>

#include "backends/softnic/dma/on_demand.h"
#include "backends/softnic/transport/payload.h"
#include "backends/softnic/transport/receive_parts.h"
#include "core/host/counter_table.h"

namespace gdakit::softnic {
namespace {

format::CqeOpcode send_completion(PacketOpcode opcode) {
  if (!ends_message(opcode)) return format::CqeOpcode::invalid;
  if (invalidates(opcode)) return format::CqeOpcode::responder_send_inv;
  return has_immediate(opcode) ? format::CqeOpcode::responder_send_imm
                               : format::CqeOpcode::responder_send;
}

// One that is cut otherwise than the first time may bring new bytes behind old ones: it is asked
// for again from these on.
bool is_all_old(const RcReceive& receive, const PacketHeader& header) {
  return psn_distance(psn_add(header.psn, header.psns), receive.expected_psn) <= 0;
}

}  // namespace

bool Responder::request(RcReceive& receive, const Packet& packet, DmaOp& op) {
  const QpState state = receive.qp.state;
  if ((state != QpState::rtr && !has_requests(state)) || receive.fatal) return true;
  const PacketHeader& header = packet.header;
  const std::int32_t ahead = psn_distance(header.psn, receive.expected_psn);
  if (ahead < 0 && is_all_old(receive, header)) {
    ++receive.qp.counters.duplicate_request;
    return duplicate(receive, header);
  }
  // Waiting here for room on the wire, while the peer does the same, would never end: the packet is
  // lost instead, and asked for again when the responses ahead of it have gone.
  const bool stuck = receive.no_room && (receive.effects.full() || !core_.ordered);
  if (ahead != 0 || stuck) {
    // Those behind one that waits for a receive WQE are in their places.
    const bool waits = receive.nak_told && receive.nak == Acknowledge::rnr_nak;
    if (ahead > 0 && !waits) ++receive.qp.counters.out_of_sequence;
    // A READ may take PSNs behind the last packet that a window allows.
    constexpr auto kFar = static_cast<std::int32_t>(2 * EarlyPackets::kMost);
    const bool keeps = receive.connection.selective_repeat && ahead > 0 && ahead < kFar && !waits;
    if (keeps) receive.early.keep(packet);
    tell_gap(receive);
    return true;
  }
  if (receive.effects.full()) return false;
  // The packet that was missing, or that came too early for a receive WQE, is here.
  const bool told = receive.nak_told;
  receive.nak_told = receive.nak_due = false;
  const Step step = execute(receive, packet, op);
  if (step == Step::again || step == Step::dropped) receive.nak_told = told;
  return step != Step::again;
}

// Unless the one that is expected next is here, and only waits for its turn.
void Responder::tell_gap(RcReceive& receive) {
  if (receive.nak_told || receive.early.find(receive.expected_psn) != nullptr) return;
  receive.nak_told = receive.nak_due = true;
  receive.nak = Acknowledge::nak_sequence;
}

// The packet before them has come. Those that are refused are sent again, as a packet would be that
// comes from the wire.
Turn Responder::execute_early(RcReceive& receive) {
  Turn turn;
  EarlyPackets& early = receive.early;
  if (early.empty()) return turn;
  const QpState state = receive.qp.state;
  const bool takes = (state == QpState::rtr || has_requests(state)) && !receive.fatal;
  if (!takes) early.clear();
  while (EarlyPackets::Kept* const kept = early.find(receive.expected_psn)) {
    const std::uint32_t psn = receive.expected_psn;
    const bool refused_before = receive.nak_due;
    if (refused_before || receive.effects.full()) break;
    const Step step = execute(receive, kept->packet, kept->op);
    if (step == Step::again) break;
    early.executed(psn);
    turn.worked = true;
    if (step != Step::done) {
      early.clear();
      break;
    }
    receive.nak_told = false;
  }
  turn.pending = early.find(receive.expected_psn) != nullptr;
  early.drop_settled(receive.expected_psn, [this](DmaOp op) { return core_.done(op); });
  // The peer sends no more than it is asked for: it is told at once of the next one that is
  // missing.
  if (early.any_wait()) tell_gap(receive);
  return turn;
}

// Notes the NAK, which is sent once all earlier requests are acknowledged.
Responder::Step Responder::refuse(RcReceive& receive, Acknowledge nak, Fault fault) {
  receive.nak_told = receive.nak_due = true;
  receive.nak = nak;
  if (nak != Acknowledge::rnr_nak) {
    count_error(receive.qp.counters, ErrorSide::responder, fault.syndrome);
    receive.fatal = receive.connection.ends = true;
    receive.fault = fault;
    receive.blame = fault;
  }
  return Step::refused;
}

// Something that was executed before: the answer is repeated, the effect is not.
bool Responder::duplicate(RcReceive& receive, const PacketHeader& header) {
  switch (header.opcode) {
    case PacketOpcode::read_request: {
      if (receive.effects.full() || read_pending(receive, header.psn)) return true;
      const bool is_xrc = header.service == ServiceType::xrc;
      if (is_xrc && named_srq(receive, header) == nullptr) return true;
      if (!allows(receive.qp.settings.access, Access::remote_read)) return true;
      if (header.reth.length > kLongestMessage) return true;
      const std::uint32_t count = receive.connection.psns_of(header.reth.length);
      const std::uint32_t last = psn_add(header.psn, count - 1);
      if (psn_distance(last, receive.expected_psn) >= 0) return true;
      Effect& effect = receive.effects.push();
      effect.kind = EffectKind::read;
      effect.duplicate = true;
      effect.psn = header.psn;
      effect.last_psn = last;
      if (is_xrc) effect.srq = header.xrc_srq;
      effect.rkey = header.reth.rkey;
      effect.address = header.reth.address;
      effect.length = header.reth.length;
      return true;
    }
    case PacketOpcode::atomic_request: {
      if (receive.effects.full()) return true;
      // From the newest on: an old entry may have the same PSN from another lap.
      for (std::size_t age = 1; age <= receive.replays.size(); ++age) {
        const std::size_t slot = (receive.next_replay - age) & (receive.replays.size() - 1);
        const Replay& replay = receive.replays[slot];
        if (!replay.valid || replay.psn != header.psn) continue;
        Effect& effect = receive.effects.push();
        effect.kind = EffectKind::replay;
        effect.duplicate = true;
        effect.psn = effect.last_psn = header.psn;
        effect.result = replay.result;
        break;
      }
      return true;
    }
    default: receive.ack_due = true; return true;
  }
}

Responder::Step Responder::execute(RcReceive& receive, const Packet& packet, DmaOp& op) {
  const PacketHeader& header = packet.header;
  if (starts_message(header.opcode) || !(is_send(header.opcode) || is_write(header.opcode))) {
    if (receive.message != Message::none) {
      return refuse(receive, Acknowledge::nak_invalid_request, kRemoteInvalidRequest);
    }
  }
  if (!may_execute(receive)) return Step::again;
  if (header.service == ServiceType::xrc && !turn_to_srq(receive, header)) return Step::dropped;
  if (is_write(header.opcode)) return write(receive, packet, op);
  if (is_send(header.opcode)) return send(receive, packet, op);
  if (header.opcode == PacketOpcode::read_request) return read(receive, header);
  if (header.opcode == PacketOpcode::atomic_request) return atomic(receive, packet);
  return refuse(receive, Acknowledge::nak_invalid_request, kRemoteInvalidRequest);
}

Responder::Step Responder::begin_write(RcReceive& receive, const PacketHeader& header) {
  if (!allows(receive.qp.settings.access, Access::remote_write) ||
      header.reth.length > kLongestMessage) {
    return refuse(receive, Acknowledge::nak_invalid_request, kRemoteInvalidRequest);
  }
  // The memory of a message in one packet, cut as it says, is looked up as the payload moves.
  const bool is_one =
      header.opcode == PacketOpcode::write_only && header.payload_size == header.reth.length;
  if (header.reth.length != 0 && !is_one) {
    const Translation whole =
        core_.keys.translate(header.reth.rkey, receive.pd, receive.qp.number, header.reth.address,
                             header.reth.length, Access::remote_write);
    if (whole.fault != KeyFault::none) {
      return refuse(receive, Acknowledge::nak_remote_access, kRemoteAccess);
    }
  }
  receive.rkey = header.reth.rkey;
  receive.address = header.reth.address;
  receive.remaining = header.reth.length;
  receive.received = 0;
  return Step::done;
}

Responder::Step Responder::write(RcReceive& receive, const Packet& packet, DmaOp& op) {
  const PacketHeader& header = packet.header;
  // First, so that what is wrong with the message is told by the receive WQE that it takes.
  Step acquired = Step::done;
  if (has_immediate(header.opcode)) acquired = acquire_receive(receive);
  if (acquired == Step::again) return acquired;
  if (starts_message(header.opcode)) {
    const Step begun = begin_write(receive, header);
    if (begun != Step::done) return begun;
  } else if (receive.message != Message::write) {
    return refuse(receive, Acknowledge::nak_invalid_request, kRemoteInvalidRequest);
  }
  const bool last = ends_message(header.opcode);
  const std::uint64_t size = header.payload_size;
  if (size > receive.remaining || (last && size != receive.remaining) ||
      !is_cut_right(receive.connection, header, place_of(header.opcode))) {
    return refuse(receive, Acknowledge::nak_invalid_request, kRemoteInvalidRequest);
  }
  if (acquired != Step::done) return acquired;
  if (size != 0) {
    // Looked up with each packet: the key may have gone since the first.
    const KeyUse use{receive.rkey, receive.pd, receive.qp.number, Access::remote_write};
    PayloadReader payload(packet);
    const bool ends = last && core_.orders_ends;
    const KeyFault fault = payload.move_to(core_, use, receive.address, size, op, ends);
    op = core_.all_of(op);
    if (fault != KeyFault::none) {
      return refuse(receive, Acknowledge::nak_remote_access, kRemoteAccess);
    }
  }
  receive.address += size;
  receive.remaining -= size;
  receive.received += size;
  receive.message = last ? Message::none : Message::write;
  if (last) ++receive.qp.counters.rx_write_requests;
  placed(receive, packet, op,
         has_immediate(header.opcode) ? format::CqeOpcode::responder_write_imm
                                      : format::CqeOpcode::invalid);
  return Step::done;
}

Responder::Step Responder::send(RcReceive& receive, const Packet& packet, DmaOp& op) {
  const PacketHeader& header = packet.header;
  if (starts_message(header.opcode)) {
    receive.received = 0;
  } else if (receive.message != Message::send) {
    return refuse(receive, Acknowledge::nak_invalid_request, kRemoteInvalidRequest);
  }
  if (!is_cut_right(receive.connection, header, place_of(header.opcode))) {
    return refuse(receive, Acknowledge::nak_invalid_request, kRemoteInvalidRequest);
  }
  const Step acquired = acquire_receive(receive);
  if (acquired != Step::done) return acquired;
  const Step scattered = scatter(receive, packet, op);
  if (scattered != Step::done) return scattered;
  if (invalidates(header.opcode)) {
    if (!invalidate(receive, header.imm)) {
      receive.untold = true;  // InfiniBand 9.9.3, class J
      return refuse_moved(receive, op, Acknowledge::nak_remote_access, kRemoteAccess);
    }
    // Of accesses by the key, too, that are under way.
    op = core_.port.fence();
  }
  receive.received += header.payload_size;
  receive.message = ends_message(header.opcode) ? Message::none : Message::send;
  placed(receive, packet, op, send_completion(header.opcode));
  return Step::done;
}

bool Responder::invalidate(const RcReceive& receive, MemoryKey key) {
  return core_.keys.invalidate(key, receive.pd, receive.qp.number);
}

// The packet's bytes are on their way to memory: `completion` says which CQE the message makes, if
// any.
void Responder::placed(RcReceive& receive, const Packet& packet, DmaOp op,
                       format::CqeOpcode completion) {
  const PacketHeader& header = packet.header;
  const std::uint32_t last_psn = psn_add(header.psn, header.psns - 1);
  receive.expected_psn = psn_add(receive.expected_psn, header.psns);
  receive.qp.counters.bytes_received += header.payload_size;
  const bool completes = completion != format::CqeOpcode::invalid;
  const bool ends = ends_message(header.opcode);
  if (!completes && op.id == 0 && receive.effects.empty()) {
    finish_placed(receive, last_psn, header.ack_request, ends);
    return;
  }
  Effect& effect = receive.effects.push();
  effect.psn = header.psn;
  effect.last_psn = last_psn;
  effect.op = op;
  effect.asks = header.ack_request;
  effect.ends = ends;
  if (!completes) return;
  effect.completion = completion;
  effect.srq = receive.srq;
  effect.solicited = header.solicited;
  effect.service_level = header.service_level;
  effect.wqe_counter = receive.wqe.index;
  effect.length = static_cast<std::uint32_t>(receive.received);
  effect.imm = header.imm;
  receive.claimed = false;
}

Responder::Step Responder::read(RcReceive& receive, const PacketHeader& header) {
  if (!allows(receive.qp.settings.access, Access::remote_read) ||
      header.reth.length > kLongestMessage ||
      receive.pending_reads >= (1u << receive.qp.settings.log_rra_max)) {
    return refuse(receive, Acknowledge::nak_invalid_request, kRemoteInvalidRequest);
  }
  if (header.reth.length != 0) {
    const Translation whole =
        core_.keys.translate(header.reth.rkey, receive.pd, receive.qp.number, header.reth.address,
                             header.reth.length, Access::remote_read);
    if (whole.fault != KeyFault::none) {
      return refuse(receive, Acknowledge::nak_remote_access, kRemoteAccess);
    }
  }
  const std::uint32_t count = receive.connection.psns_of(header.reth.length);
  Effect& effect = receive.effects.push();
  effect.kind = EffectKind::read;
  effect.psn = header.psn;
  effect.last_psn = psn_add(header.psn, count - 1);
  effect.srq = receive.srq;
  effect.rkey = header.reth.rkey;
  effect.address = header.reth.address;
  effect.length = header.reth.length;
  ++receive.pending_reads;
  ++receive.qp.counters.rx_read_requests;
  receive.expected_psn = psn_add(receive.expected_psn, count);
  return Step::done;
}

Responder::Step Responder::atomic(RcReceive& receive, const Packet& packet) {
  const PacketHeader& header = packet.header;
  const std::uint8_t size = packet.atomic.size;
  if (!allows(receive.qp.settings.access, Access::remote_atomic) || (size != 4 && size != 8) ||
      header.reth.address % size != 0 ||
      receive.pending_reads >= (1u << receive.qp.settings.log_rra_max)) {
    return refuse(receive, Acknowledge::nak_invalid_request, kRemoteInvalidRequest);
  }
  const Translation found = core_.keys.translate(header.reth.rkey, receive.pd, receive.qp.number,
                                                 header.reth.address, size, Access::remote_atomic);
  // A word that lies in two parts of a list is none.
  if (found.fault != KeyFault::none || found.piece.length != size) {
    return refuse(receive, Acknowledge::nak_remote_access, kRemoteAccess);
  }
  // A zero-based region may itself begin at an odd place.
  const DmaAddress place = found.piece.base;
  if (place.value % size != 0) {
    return refuse(receive, Acknowledge::nak_invalid_request, kRemoteInvalidRequest);
  }
  // Fewer than there are slots are on their way.
  std::uint64_t& result = receive.results[receive.next_result];
  DmaOp op;
  if (!is_on_demand(place)) {
    op = core_.port.atomic(place, packet.atomic, &result);
  } else if (!atomic_on_demand(place, packet.atomic, &result)) {
    return refuse(receive, Acknowledge::nak_remote_access, kRemoteAccess);
  }
  Effect& effect = receive.effects.push();
  effect.kind = EffectKind::atomic;
  effect.psn = effect.last_psn = header.psn;
  effect.op = op;
  effect.result_slot = static_cast<std::uint8_t>(receive.next_result);
  receive.next_result = (receive.next_result + 1) & ((1u << receive.qp.settings.log_rra_max) - 1);
  ++receive.pending_reads;
  ++receive.qp.counters.rx_atomic_requests;
  receive.expected_psn = psn_add(receive.expected_psn, 1);
  return Step::done;
}

}  // namespace gdakit::softnic
