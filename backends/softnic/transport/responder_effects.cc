// From the effect to the answer: READ and atomic responses, CQEs of the receive side, ACKs and
// NAKs.
#include <algorithm>
#include <optional>

#include "backends/softnic/transport/cqe_writer.h"
#include "backends/softnic/transport/payload.h"
#include "backends/softnic/transport/requester.h"
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

// What is told of a request that was refused. Where the receive WQE is at fault, its CQE tells.
std::optional<EventKind> event_of(Fault fault) {
  switch (fault.syndrome) {
    case format::Syndrome::remote_access: return EventKind::qp_access_error;
    case format::Syndrome::remote_invalid_request: return EventKind::qp_invalid_request;
    default: return std::nullopt;
  }
}

}  // namespace

Turn Responder::work(Qp& qp) {
  Turn turn = run_effects(qp);
  ReceiveSide& receive = qp.receive;
  // A NAK acknowledges everything before it, so it waits for that.
  const bool nak = receive.nak_due && receive.effects.empty();
  if (nak || receive.ack_due) {
    if (qp.state == QpState::err || acknowledge(qp, nak)) {
      turn.worked = true;
      receive.ack_due = false;
      if (nak) receive.nak_due = false;
      if (nak && receive.fatal) fail(qp);
    } else {
      turn.pending = true;
    }
  }
  if (qp.state == QpState::err && receive.effects.empty()) turn |= flush(qp);
  return turn;
}

// Is the answer to the READ with this PSN still to be sent?
bool Responder::read_pending(Qp& qp, std::uint32_t psn) const {
  GrowingFifo<Effect>& effects = qp.receive.effects;
  for (std::uint64_t number = effects.head(); number != effects.tail(); ++number) {
    const Effect& effect = effects[number];
    if (effect.kind == EffectKind::read && psn_distance(psn, effect.psn) >= 0 &&
        psn_distance(psn, effect.last_psn) <= 0) {
      return true;
    }
  }
  return false;
}

bool Responder::post_completion(Qp& qp, const Effect& effect) {
  format::Cqe64 cqe = make_cqe(qp, effect.completion, effect.wqe_counter);
  cqe.op_own = format::op_own(effect.completion, false, effect.solicited);
  cqe.byte_cnt = Be32{effect.length};
  cqe.imm_inval_pkey = Be32{effect.imm};
  cqe.flags_rqpn = Be32{qp.path.remote_qpn};
  return core_.post_cqe(*qp.receive_cq, cqe);
}

Turn Responder::run_effects(Qp& qp) {
  ReceiveSide& receive = qp.receive;
  Turn turn;
  for (std::uint32_t i = 0; i < kResponsesPerTurn && !receive.effects.empty(); ++i) {
    Effect& effect = receive.effects.front();
    turn.pending = true;
    if (!core_.done(effect.op)) return turn;
    const bool answers = effect.kind != EffectKind::placed && qp.state != QpState::err;
    receive.no_room = false;
    bool finished = true;
    if (effect.has_cqe()) finished = post_completion(qp, effect);
    if (answers && effect.kind == EffectKind::read) {
      receive.no_room = !respond_read(qp, effect);
      if (receive.no_room) return turn;
      // A fault has emptied the queue, or only a part is answered.
      if (receive.effects.empty()) return turn;
      turn.worked = true;
      finished = effect.psn == psn_add(effect.last_psn, 1);
      if (!finished) continue;
    } else if (answers) {
      finished = respond_atomic(qp, effect);
      receive.no_room = !finished;
    }
    if (!finished) return turn;
    turn.worked = true;
    if (!effect.duplicate) {
      receive.done_psn = effect.last_psn;
      receive.ack_due = effect.kind == EffectKind::placed;
      if (effect.kind != EffectKind::placed) --receive.pending_reads;
    }
    receive.effects.pop();
  }
  turn.pending = !receive.effects.empty();
  return turn;
}

// Refuses a READ that is partly answered, and forgets what was asked after it. The receive WQEs
// that this took are there again, to be flushed.
void Responder::refuse_read(Qp& qp, std::uint32_t psn, Acknowledge nak, Fault fault) {
  ReceiveSide& receive = qp.receive;
  GrowingFifo<Effect>& effects = receive.effects;
  for (std::uint64_t number = effects.head(); number != effects.tail(); ++number) {
    if (!effects[number].has_cqe()) continue;
    --receive.consumer;
    receive.loaded = false;
  }
  effects.truncate(effects.head());
  receive.pending_reads = 0;
  receive.expected_psn = psn;
  refuse(qp, nak, fault);
}

// Sends the next response of a READ. False: no room. A READ that cannot go on is refused.
bool Responder::respond_read(Qp& qp, Effect& effect) {
  const std::uint64_t left = effect.length - effect.offset;
  std::uint64_t size = std::min<std::uint64_t>(core_.mtu, left);
  Packet packet = make_packet(qp, PacketOpcode::read_response_only, effect.psn);
  if (size != 0) {
    const Resolved place =
        core_.keys.resolve(effect.rkey, qp.attributes.pd, qp.number, effect.address + effect.offset,
                           size, Access::remote_read);
    if (place.fault != KeyFault::none) {
      refuse_read(qp, effect.psn, Acknowledge::nak_remote_access, kRemoteAccess);
      return true;
    }
    packet.header.fragment_count = 1;
    packet.fragments[0] = {place.address, size, effect.rkey};
    if (size > core_.value_mtu && !core_.wire.by_reference(packet)) {
      size = std::min<std::uint64_t>(core_.psn_bytes, left);
      packet.fragments[0].size = size;
    }
  }
  packet.header.payload_size = static_cast<std::uint32_t>(size);
  packet.header.opcode = read_response_opcode(effect.offset == 0, size == left);
  if (!core_.send(qp, packet)) return false;
  effect.offset += static_cast<std::uint32_t>(size);
  effect.psn = psn_add(effect.psn, core_.psns_of(size));
  return true;
}

bool Responder::respond_atomic(Qp& qp, const Effect& effect) {
  ReceiveSide& receive = qp.receive;
  Packet packet = make_packet(qp, PacketOpcode::atomic_acknowledge, effect.psn);
  const bool is_new = effect.kind == EffectKind::atomic;
  const std::uint64_t result = is_new ? receive.results[effect.result_slot] : effect.result;
  packet.header.atomic_result = result;
  if (!core_.send(qp, packet)) return false;
  if (is_new) {
    receive.replays[receive.next_replay] = {true, effect.psn, result};
    receive.next_replay = (receive.next_replay + 1) & ((1u << qp.path.log_rra_max) - 1);
  }
  return true;
}

// Sends the NAK, or an ACK of all that is done; false if there is no room.
bool Responder::acknowledge(Qp& qp, bool nak) {
  ReceiveSide& receive = qp.receive;
  const std::uint32_t psn = nak ? receive.expected_psn : receive.done_psn;
  Packet packet = make_packet(qp, PacketOpcode::acknowledge, psn);
  if (nak) {
    packet.header.acknowledge = receive.nak;
    packet.header.rnr_timer = qp.path.min_rnr_nak;
  }
  if (!core_.send(qp, packet)) return false;
  if (nak) ++core_.counters.naks;
  return true;
}

void Responder::fail(Qp& qp) {
  const Fault fault = qp.receive.fault;
  QpError error;
  error.syndrome = fault.syndrome;
  error.vendor_syndrome = fault.vendor_syndrome;
  error.wqe_index = static_cast<std::uint16_t>(qp.receive.consumer);
  error.responder = true;
  Requester::fail(core_, qp, error, event_of(fault));
}

}  // namespace gdakit::softnic
