// The end of a WQE: completion in order, its CQE, and the failure of the queue.
#include "backends/softnic/transport/cqe_writer.h"
#include "backends/softnic/transport/requester.h"

namespace gdakit::softnic {

// Whether payload of the flight is still being read, for a packet that is sent again although the
// first one has arrived by now: its source is the sender's until then.
bool Requester::is_read(Qp& qp, const Flight& flight) {
  for (std::uint64_t i = qp.outbox.head(); i != qp.outbox.tail(); ++i) {
    const PacketHeader& header = qp.outbox[i].packet.header;
    const bool is_request = is_write(header.opcode) || is_send(header.opcode);
    if (is_request && psn_distance(header.psn, flight.last_psn) <= 0) return true;
  }
  return false;
}

bool Requester::finished(Qp& qp, const Flight& flight) {
  if (!flight.sent || !core_.done(flight.op)) return false;
  switch (flight.kind) {
    case RequestKind::nop:
    case RequestKind::dump: return true;
    case RequestKind::read:
    case RequestKind::atomic: return flight.answered;
    case RequestKind::write:
    case RequestKind::send: break;
  }
  return psn_distance(qp.send.unacked_psn, flight.last_psn) > 0 && !is_read(qp, flight);
}

bool Requester::post_completion(Qp& qp, const Flight& flight) {
  const auto index = static_cast<std::uint16_t>(flight.index);
  if (flight.fault) {
    format::Cqe64 cqe = make_error_cqe(qp, format::CqeOpcode::requester_error, index,
                                       static_cast<std::uint8_t>(flight.opcode), flight.fault);
    return core_.post_cqe(*qp.send_cq, cqe);
  }
  if (flight.completion != format::Completion::always &&
      flight.completion != format::Completion::with_event) {
    return true;
  }
  format::Cqe64 cqe = make_cqe(qp, format::CqeOpcode::requester, index);
  cqe.sop_drop_qpn =
      Be32{(std::uint32_t{static_cast<std::uint8_t>(flight.opcode)} << 24) | qp.number};
  if (has_response_data(flight.kind)) {
    cqe.byte_cnt = Be32{static_cast<std::uint32_t>(flight.length)};
  }
  return core_.post_cqe(*qp.send_cq, cqe);
}

// Takes the queue's requests back from the wire: once a WQE has completed in error, the client may
// use its buffers again, which peers must not read any more. False: one may still do so.
bool Requester::withdraw(Qp& qp) {
  std::optional<Recall>& withdrawal = qp.send.withdrawal;
  if (!withdrawal) withdrawal = core_.wire.recall({.requester = qp.number});
  return core_.wire.recalled(*withdrawal);
}

Turn Requester::complete(Qp& qp) {
  SendSide& send = qp.send;
  Turn turn;
  while (!send.flights.empty()) {
    Flight& flight = send.flights.front();
    if (!flight.fault && !finished(qp, flight)) {
      turn.pending |= !core_.done(flight.op);
      break;
    }
    if ((flight.fault && !withdraw(qp)) || !post_completion(qp, flight)) {
      turn.pending = true;
      break;
    }
    turn.worked = true;
    ++core_.counters.wqes;
    send.completed += flight.wqebbs;
    if (has_response_data(flight.kind)) --send.unfinished_reads;
    if (flight.fault) {
      const QpError error{flight.fault.syndrome, flight.fault.vendor_syndrome,
                          static_cast<std::uint16_t>(flight.index),
                          static_cast<std::uint8_t>(flight.opcode), false};
      send.flights.pop();
      fail(core_, qp, error);
      turn.pending = true;
      return turn;
    }
    if (send.cursor == send.flights.head()) next_flight(send);
    send.flights.pop();
  }
  return turn;
}

void Requester::fail(Core& core, Qp& qp, const QpError& error, std::optional<EventKind> event) {
  SendSide& send = qp.send;
  if (qp.state == QpState::err) return;
  if (qp.first_error.syndrome == format::Syndrome::none) qp.first_error = error;
  qp.state = QpState::err;
  send.flights.truncate(send.flights.head());
  send.cursor = send.flights.tail();
  send.started = send.completed;
  send.unfinished_reads = 0;
  send.loaded = false;
  send.timer_ns = 0;
  send.blocked_until_ns = 0;
  // Whatever has been posted and announced in the records alone is flushed too.
  send.record.wanted = true;
  qp.receive.record.wanted = true;
  if (event) core.tell({*event, qp.number});
}

}  // namespace gdakit::softnic
