// The end of a WQE: completion in order, its CQE, and the failure of the queue.
#include "backends/softnic/queues/make_cqe.h"
#include "backends/softnic/transport/requester.h"
#include "core/host/counter_table.h"

namespace gdakit::softnic {

// Whether payload of the flight is still being read, for a packet that is sent again although the
// first one has arrived by now: its source is the sender's until then.
bool Requester::is_read(RcSend& send, const Flight& flight) {
  for (std::uint64_t i = send.connection.outbox.head(); i != send.connection.outbox.tail(); ++i) {
    const PacketHeader& header = send.connection.outbox[i].packet.header;
    const bool is_request = is_write(header.opcode) || is_send(header.opcode);
    if (is_request && psn_distance(header.psn, flight.last_psn) <= 0) return true;
  }
  return false;
}

// Whether DMA of the flight is under way, or its WQE is being read, like the payload above: that
// may be the first of several that are read again.
bool Requester::is_busy(RcSend& send, const Flight& flight) {
  return !core_.done(flight.op) ||
         send.queue.is_reading(core_, send.index_of(flight), flight.wqebbs);
}

// Of a flight that is not busy.
bool Requester::finished(RcSend& send, const Flight& flight) {
  if (!flight.sent) return false;
  switch (flight.kind) {
    case RequestKind::nop:
    case RequestKind::key_change:
    case RequestKind::dump: return true;
    case RequestKind::read:
    case RequestKind::atomic: return flight.answered;
    case RequestKind::write:
    case RequestKind::send: break;
  }
  return psn_distance(send.unacked_psn, flight.last_psn) > 0 && !is_read(send, flight);
}

bool Requester::post_completion(RcSend& send, const Flight& flight) {
  const auto index = static_cast<std::uint16_t>(flight.index);
  if (flight.fault) {
    format::Cqe64 cqe = make_error_cqe(send.qp, format::CqeOpcode::requester_error, index,
                                       static_cast<std::uint8_t>(flight.opcode), flight.fault);
    return core_.post_cqe(send.qp, *send.qp.send_cq, cqe);
  }
  if (!asks_for_cqe(flight.completion)) return true;
  format::Cqe64 cqe = make_requester_cqe(send.qp, index, flight.opcode);
  if (has_response_data(flight.kind)) {
    cqe.byte_cnt = Be32{static_cast<std::uint32_t>(flight.length)};
  }
  return core_.post_cqe(send.qp, *send.qp.send_cq, cqe);
}

// Takes the queue's requests back from the wire: once a WQE has completed in error, the client may
// use its buffers again, which peers must not read any more. False: one may still do so.
bool Requester::withdraw(RcSend& send) {
  std::optional<Recall>& withdrawal = send.withdrawal;
  if (!withdrawal) withdrawal = core_.wire.recall({.requester = send.qp.number});
  return core_.wire.recalled(*withdrawal);
}

// To a timeline: the WQE that was started last.
void Requester::tell_begin(RcSend& send) {
  const Flight& flight = send.flights[send.flights.tail() - 1];
  core_.trace->wqe_begins(send.qp.number, flight.index, static_cast<std::uint8_t>(flight.opcode),
                          flight.length);
}

void Requester::tell_end(const RcSend& send, const Flight& flight) {
  const TraceEnd of_success = asks_for_cqe(flight.completion) ? TraceEnd::told : TraceEnd::silent;
  core_.trace->wqe_ends(send.qp.number, flight.index, static_cast<std::uint8_t>(flight.opcode),
                        flight.fault ? TraceEnd::failed : of_success);
}

Turn Requester::complete(RcSend& send) {
  Turn turn;
  while (!send.flights.empty()) {
    Flight& flight = send.flights.front();
    if (flight.fault && send.qp.state == QpState::err) break;  // something else was the first error
    // A WQE that has failed, too, keeps its buffers until what was moved for it is there.
    if (is_busy(send, flight)) {
      turn.pending = true;
      break;
    }
    if (!flight.fault && !finished(send, flight)) break;
    if ((flight.fault && !withdraw(send)) || !post_completion(send, flight)) {
      turn.pending = true;
      break;
    }
    turn.worked = true;
    ++send.qp.counters.wqes;
    if (core_.trace != nullptr) tell_end(send, flight);
    send.queue.complete(flight.wqebbs);
    if (has_response_data(flight.kind)) --send.unfinished_reads;
    if (flight.fault) {
      ++send.qp.counters.req_cqe_error;
      count_error(send.qp.counters, ErrorSide::requester, flight.fault.syndrome);
      const QpError error{flight.fault.syndrome, flight.fault.vendor_syndrome,
                          static_cast<std::uint16_t>(flight.index),
                          static_cast<std::uint8_t>(flight.opcode), false};
      abandon(send);  // whatever is behind it is flushed
      core_.fail(send.qp, error);
      turn.pending = true;
      return turn;
    }
    if (send.cursor == send.flights.head()) next_flight(send);
    send.flights.pop();
  }
  return turn;
}

}  // namespace gdakit::softnic
