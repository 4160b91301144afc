// Packets for targets of DC, and the end of connections.
#include "backends/softnic/engine/dc_targets.h"

#include <functional>

#include "backends/softnic/transport/payload.h"

namespace gdakit::softnic {
namespace {

// An initiator that takes nothing for so long, while its responder is to go, is told no more: for
// all that it knows packets are lost, and it asks again.
constexpr std::uint64_t kPatienceNs = 100'000'000;

// Nothing that was asked of it is under way, or is yet to be answered.
bool is_quiet(const DcResponder& responder) {
  const RcReceive& receive = responder.receive;
  return receive.effects.empty() && !receive.nak_due && !receive.ack_due &&
         responder.connection.outbox.empty();
}

}  // namespace

std::size_t DcTargets::Hash::operator()(const DcPeer& peer) const {
  const std::uint64_t numbers = std::uint64_t{peer.target} << 24 ^ peer.initiator;
  return std::hash<std::uint64_t>()(numbers ^ std::uint64_t{peer.endpoint} << 40);
}

void DcTargets::activate(Qp& qp) {
  if (!active_.holds(qp)) active_.push_back(qp);
}

DcResponder* DcTargets::find(const PacketHeader& header) const {
  const auto found = responders_.find({header.destination_qpn, header.dc_source, header.source});
  return found == responders_.end() ? nullptr : found->second.get();
}

DcResponder* DcTargets::take(Dct& target, const PacketHeader& header) {
  const bool takes = target.state == DctState::active && !target.broken;
  const bool is_ours = header.service == ServiceType::dc && !is_response(header.opcode);
  if (header.opcode == PacketOpcode::congestion_notification) {
    notify(target, header);
    return nullptr;
  }
  if (!takes || !is_ours) {
    ++core_.counters.dropped_packets;
    return nullptr;
  }
  if (header.opcode == PacketOpcode::dc_connect) {
    connect(target, header);
    return nullptr;
  }
  DcResponder* const responder = find(header);
  if (responder == nullptr || is_parked(responder->phase)) {
    ++core_.counters.dropped_packets;
    // What it had said may be lost.
    const bool left = responder != nullptr && responder->phase == DcPhase::left;
    if (left && header.ack_request) static_cast<void>(tell_no_responder(*responder));
    return nullptr;
  }
  responder->last_ns = core_.now_ns;
  if (header.opcode == PacketOpcode::dc_disconnect) {
    // One of a connection before says another PSN.
    if (header.psn == responder->receive.expected_psn) end(*responder);
    return nullptr;
  }
  return responder->phase == DcPhase::connected ? responder : nullptr;
}

// A CNP says of which NIC it is, and not of which initiator.
void DcTargets::notify(Dct& target, const PacketHeader& header) {
  if (!core_.congestion_control) return;
  for (const auto& [peer, responder] : responders_) {
    Congestion* const congestion = responder->connection.congestion.get();
    if (peer.target != target.number || peer.endpoint != header.source || congestion == nullptr) {
      continue;
    }
    ++responder->common.counters.rp_cnp_handled;
    congestion->limit.notified(core_.now_ns);
  }
}

// The connection ends, once what was executed is complete. Of a message that has begun the receive
// WQE completes, flushed.
void DcTargets::end(DcResponder& responder) {
  if (is_parked(responder.phase)) unpark(responder);
  if (!is_going(responder.phase)) responder.going_ns = core_.now_ns;
  if (responder.phase == DcPhase::leaving) --leaving_;
  if (connected_.holds(responder)) connected_.remove(responder);
  responder.phase = DcPhase::closing;
  if (responder.receive.claimed) core_.fail(responder.common, {});
  activate(responder);
}

Turn DcTargets::look_at(DcResponder& responder) {
  if (is_parked(responder.phase)) return {};
  const bool failed = responder.common.state == QpState::err;
  responder.connection.loses_unsent =
      is_going(responder.phase) && core_.now_ns - responder.going_ns >= kPatienceNs;
  if (!is_quiet(responder) || (failed && responder.receive.claimed)) return {};
  if (failed || responder.phase == DcPhase::closing) {
    park(responder, failed ? DcPhase::failed : DcPhase::closed);
    return {.worked = true};
  }
  if (responder.phase != DcPhase::leaving) return {};
  responder.receive.early.clear();
  const bool told = tell_no_responder(responder);
  if (!told && !responder.connection.loses_unsent) return {.pending = true};
  park(responder, DcPhase::left);
  return {.worked = true};
}

// Says how far the responder has come. False: no room.
bool DcTargets::tell_no_responder(const DcResponder& responder) {
  Packet packet =
      make_packet(responder.connection, PacketOpcode::acknowledge, responder.receive.expected_psn);
  packet.header.aeth = {.msn = static_cast<std::uint32_t>(responder.id) & kMsnMask,
                        .acknowledge = Acknowledge::nak_no_responder};
  if (!core_.wire.send(packet)) return false;
  ++core_.counters.dc_cnaks_sent;
  return true;
}

// Its place is another's.
void DcTargets::park(DcResponder& responder, DcPhase phase) {
  if (responder.phase == DcPhase::leaving) --leaving_;
  if (connected_.holds(responder)) connected_.remove(responder);
  responder.phase = phase;
  timers_.set(responder.timer, 0);
  parked_.push_back(responder);
  ++parked_count_;
  --in_use_;
  Dct& target = responder.target;
  --target.connections;
  if (target.state == DctState::draining && target.connections == 0) {
    target.state = DctState::drained;
    core_.tell({EventKind::dct_drained, target.number});
  }
}

void DcTargets::unpark(DcResponder& responder) {
  parked_.remove(responder);
  --parked_count_;
  ++in_use_;
  ++responder.target.connections;
}

void DcTargets::erase(DcResponder& responder) {
  responder.target.counters += responder.common.counters;
  if (active_.holds(responder)) active_.remove(responder);
  timers_.remove(responder.timer);
  parked_.remove(responder);
  --parked_count_;
  responders_.erase(responder.peer());
}

void DcTargets::end_all(Dct& target) {
  for (const auto& [peer, responder] : responders_) {
    if (peer.target != target.number) continue;
    const bool holds = responder->receive.claimed;
    if (is_parked(responder->phase) && !holds) continue;
    end(*responder);
    core_.fail(responder->common, {});
  }
}

void DcTargets::drain(Dct& target) {
  if (target.state != DctState::active) return;
  target.state = DctState::draining;
  end_all(target);
  if (target.connections != 0) return;
  target.state = DctState::drained;
  core_.tell({EventKind::dct_drained, target.number});
}

void DcTargets::fail(Dct& target) {
  target.broken = true;
  end_all(target);
}

void DcTargets::forget(Dct& target) {
  for (auto at = responders_.begin(); at != responders_.end();) {
    DcResponder& responder = *at->second;
    ++at;
    if (&responder.target == &target) erase(responder);
  }
  std::erase_if(waiting_, [&](const Waiter& one) { return one.peer.target == target.number; });
}

QueueCounters DcTargets::counters(const Dct& target) const {
  QueueCounters sum = target.counters;
  for (const auto& [peer, responder] : responders_) {
    if (peer.target == target.number) sum += responder->common.counters;
  }
  return sum;
}

}  // namespace gdakit::softnic
