// From the effect to the answer: READ and atomic responses, CQEs of the receive side, ACKs and
// NAKs.
#include <algorithm>
#include <optional>

#include "backends/softnic/queues/make_cqe.h"
#include "backends/softnic/transport/payload.h"
#include "backends/softnic/transport/responder.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kResponsesPerTurn = 64;

PacketOpcode read_response_opcode(bool first, bool last) {
  if (first) {
    return last ? PacketOpcode::read_response_only : PacketOpcode::read_response_first;
  }
  return last ? PacketOpcode::read_response_last : PacketOpcode::read_response_middle;
}

// What is told of a request that was refused. Where the receive WQE is at fault, its CQE tells;
// where a shared receive queue is, there is none.
std::optional<EventKind> event_of(Fault fault) {
  switch (fault.syndrome) {
    case format::Syndrome::remote_access: return EventKind::qp_access_error;
    case format::Syndrome::remote_invalid_request: return EventKind::qp_invalid_request;
    case format::Syndrome::local_qp_operation: return EventKind::qp_fatal;
    default: return std::nullopt;
  }
}

}  // namespace

Turn Responder::work(RcReceive& receive) {
  Turn turn = execute_early(receive);
  turn |= run_effects(receive);
  // A NAK acknowledges everything before it, so it waits for that.
  const bool nak = receive.nak_due && (receive.effects.empty() || is_flushed(receive));
  if (nak || receive.ack_due) {
    if (receive.qp.state == QpState::err || answer(receive, nak)) {
      turn.worked = true;
      receive.ack_due = false;
      if (nak) receive.nak_due = false;
      if (nak && receive.fatal) fail(receive);
    } else {
      turn.pending = true;
    }
  }
  if (receive.qp.state == QpState::err && receive.effects.empty()) turn |= flush(receive);
  return turn;
}

// Is the answer to the READ with this PSN still to be sent?
bool Responder::read_pending(RcReceive& receive, std::uint32_t psn) const {
  GrowingFifo<Effect>& effects = receive.effects;
  for (std::uint64_t number = effects.head(); number != effects.tail(); ++number) {
    const Effect& effect = effects[number];
    if (effect.kind == EffectKind::read && psn_distance(psn, effect.psn) >= 0 &&
        psn_distance(psn, effect.last_psn) <= 0) {
      return true;
    }
  }
  return false;
}

bool Responder::post_completion(RcReceive& receive, const Effect& effect) {
  format::Cqe64 cqe = make_cqe(receive.qp, effect.completion, effect.wqe_counter);
  cqe.op_own = format::op_own(effect.completion, false, effect.solicited);
  cqe.byte_cnt = Be32{effect.length};
  cqe.imm_inval_pkey = Be32{effect.imm};
  const std::uint32_t service_level = effect.service_level;
  cqe.flags_rqpn = Be32{service_level << 24 | receive.connection.remote_qpn};
  if (receive.qp.attributes.service == ServiceType::dc && core_.addresses != nullptr) {
    cqe.slid = Be16{core_.addresses->address_of(receive.qp.settings.path.endpoint).lid};
  }
  if (effect.srq != kOwnReceives) return post_to_srq(receive, effect.srq, cqe);
  return core_.post_cqe(receive.qp, *receive.qp.receive_cq, cqe);
}

Turn Responder::run_effects(RcReceive& receive) {
  Turn turn;
  for (std::uint32_t i = 0; i < kResponsesPerTurn && !receive.effects.empty(); ++i) {
    Effect& effect = receive.effects.front();
    turn.pending = true;
    if (effect.kind == EffectKind::flushed) return flush_effects(receive);
    if (!core_.done(effect.op)) return turn;
    const bool answers = effect.kind != EffectKind::placed && receive.qp.state != QpState::err;
    receive.no_room = false;
    bool finished = true;
    if (effect.has_cqe()) finished = post_completion(receive, effect);
    if (answers && effect.kind == EffectKind::read) {
      if (receive.connection.held_back(core_.now_ns)) {
        receive.no_room = true;
        turn.pending = false;  // the timer of what is held back goes on
        return turn;
      }
      if (receive.connection.gives_way_to_requests()) return turn;
      receive.no_room = !respond_read(receive, effect);
      if (receive.no_room) return turn;
      // A fault has ended it, or only a part is answered.
      if (receive.effects.empty() || is_flushed(receive)) return turn;
      turn.worked = true;
      finished = effect.psn == psn_add(effect.last_psn, 1);
      if (!finished) continue;
    } else if (answers) {
      finished = respond_atomic(receive, effect);
      receive.no_room = !finished;
    }
    if (!finished) return turn;
    turn.worked = true;
    finish(receive, effect);
    receive.effects.pop();
  }
  turn.pending = !receive.effects.empty();
  return turn;
}

// Bytes are in memory: the next acknowledge says so.
void Responder::finish_placed(RcReceive& receive, std::uint32_t last_psn, bool asks, bool ends) {
  receive.done_psn = last_psn;
  receive.ack_due |= asks;
  if (ends) receive.msn = msn_after(receive, true);
}

// The effect is complete.
void Responder::finish(RcReceive& receive, const Effect& effect) {
  if (effect.duplicate) return;
  if (effect.kind == EffectKind::placed) {
    finish_placed(receive, effect.last_psn, effect.asks, effect.ends);
    return;
  }
  receive.done_psn = effect.last_psn;
  receive.ack_due = false;  // its response has acknowledged what was before
  --receive.pending_reads;
}

// Refuses a READ that is partly answered, and forgets what was asked after it. The receive WQEs
// that were claimed for this are flushed when the queue pair has failed. One that was answered
// before is dropped: its key may have ended since. So is one whose shared receive queue has gone.
void Responder::refuse_read(RcReceive& receive, Effect& read) {
  const std::uint32_t psn = read.psn;
  if (read.duplicate || read.srq == kGoneSrq) {
    read.psn = psn_add(read.last_psn, 1);
    return;
  }
  GrowingFifo<Effect>& effects = receive.effects;
  std::uint64_t kept = effects.head();
  for (std::uint64_t number = effects.head(); number != effects.tail(); ++number) {
    if (!effects[number].has_cqe()) continue;
    Effect flushed;
    flushed.kind = EffectKind::flushed;
    flushed.wqe_counter = effects[number].wqe_counter;
    flushed.srq = effects[number].srq;
    effects[kept++] = flushed;
  }
  effects.truncate(kept);
  receive.pending_reads = 0;
  receive.expected_psn = psn;
  refuse(receive, Acknowledge::nak_remote_access, kRemoteAccess);
  // A message that came behind the READ is not to blame.
  receive.blame = {};
}

bool Responder::is_flushed(RcReceive& receive) {
  return receive.effects.front().kind == EffectKind::flushed;
}

// Completes the receive WQEs of forgotten requests, once the queue pair has failed.
Turn Responder::flush_effects(RcReceive& receive) {
  Turn turn;
  if (receive.qp.state != QpState::err) return turn;
  for (; !receive.effects.empty(); receive.effects.pop()) {
    const Effect& effect = receive.effects.front();
    if (!post_failed(receive, effect.srq, effect.wqe_counter, {})) {
      turn.pending = true;
      break;
    }
    turn.worked = true;
  }
  return turn;
}

// Sends the next response of a READ. False: no room. A READ that cannot go on is refused.
bool Responder::respond_read(RcReceive& receive, Effect& effect) {
  const std::uint64_t left = effect.length - effect.offset;
  const KeyUse use{effect.rkey, pd_of(receive, effect), receive.qp.number, Access::remote_read};
  KeyFault fault = KeyFault::none;
  const auto walk = [&](std::uint64_t size, const auto& take) {
    for (std::uint64_t at = effect.address + effect.offset, end = at + size; at != end;) {
      const Translation found = use.translate(core_.keys, at, end - at);
      fault = found.fault;
      if (fault != KeyFault::none) return;
      if (!take(Fragment{found.piece.base, found.piece.length, effect.rkey})) return;
      at += found.piece.length;
    }
  };
  Packet packet = make_packet(receive.connection, PacketOpcode::read_response_only, effect.psn);
  const std::uint32_t msn = msn_after(receive, effect.offset == 0 && !effect.duplicate);
  packet.header.aeth = {.msn = msn};
  // What a window or a list names travels by value: its end waits for no peer that still reads.
  if (left == 0 || !core_.keys.is_indirect(effect.rkey)) {
    name_payload(core_, receive.connection, left, walk, packet);
  } else {
    gather_payload(core_, receive.connection.psn_bytes, left, walk, packet);
  }
  if (fault != KeyFault::none) {
    refuse_read(receive, effect);
    return true;
  }
  const std::uint32_t size = packet.header.payload_size;
  packet.header.opcode = read_response_opcode(effect.offset == 0, size == left);
  packet.header.psns = receive.connection.psns_of(size);
  if (!core_.send(receive.connection, packet)) {
    if (!core_.was_absent()) return false;
    refuse_read(receive, effect);
    return true;
  }
  receive.msn = msn;
  effect.offset += size;
  effect.psn = psn_add(effect.psn, packet.header.psns);
  return true;
}

bool Responder::respond_atomic(RcReceive& receive, const Effect& effect) {
  Packet packet = make_packet(receive.connection, PacketOpcode::atomic_acknowledge, effect.psn);
  const bool is_new = effect.kind == EffectKind::atomic;
  const std::uint64_t result = is_new ? receive.results[effect.result_slot] : effect.result;
  const std::uint32_t msn = msn_after(receive, is_new);
  packet.header.aeth = {.atomic_result = result, .msn = msn};
  if (!core_.send(receive.connection, packet)) return false;
  receive.msn = msn;
  if (is_new) {
    receive.replays[receive.next_replay] = {true, effect.psn, result};
    receive.next_replay = (receive.next_replay + 1) & ((1u << receive.qp.settings.log_rra_max) - 1);
  }
  return true;
}

// False: try again.
bool Responder::answer(RcReceive& receive, bool nak) {
  // What the queue pair has not sent when it fails, it never sends.
  if (nak && receive.fatal && !receive.connection.outbox.empty()) return false;
  if (!nak || !receive.untold) return acknowledge(receive, nak);
  return !receive.ack_due || acknowledge(receive, false);
}

// Sends the NAK, or an ACK of all that is done; false if there is no room.
bool Responder::acknowledge(RcReceive& receive, bool nak) {
  const std::uint32_t psn = nak ? receive.expected_psn : receive.done_psn;
  Packet packet = make_packet(receive.connection, PacketOpcode::acknowledge, psn);
  packet.header.aeth = {.msn = receive.msn};
  if (nak) {
    packet.header.aeth.acknowledge = receive.nak;
    packet.header.aeth.rnr_timer = receive.qp.settings.min_rnr_nak;
  }
  if (!core_.send(receive.connection, packet)) return false;
  if (nak) ++receive.qp.counters.naks;
  return true;
}

void Responder::fail(RcReceive& receive) {
  const Fault fault = receive.fault;
  QpError error;
  error.syndrome = fault.syndrome;
  error.vendor_syndrome = fault.vendor_syndrome;
  if (receive.claimed) error.wqe_index = receive.wqe.index;
  error.responder = true;
  core_.fail(receive.qp, error, event_of(fault));
}

}  // namespace gdakit::softnic
