// From the send queue to the flight: reading WQEs, starting them, and flushing in state err.
#include "backends/softnic/queues/umr.h"
#include "backends/softnic/transport/payload.h"
#include "backends/softnic/transport/requester.h"

namespace gdakit::softnic {

// Finds the memory of the current request. Where responses go is looked up as they come: what is
// wrong at the peer is told first.
Fault Requester::find_sges(RcSend& send) {
  send.removals = core_.keys.removals();
  if (has_response_data(send.request.kind)) return {};
  return resolve_sges(core_.keys, send.qp.attributes.pd, send.qp.number, Access::local_read,
                      send.request);
}

// Makes the cursor's WQE the current request.
Requester::Load Requester::load(RcSend& send) {
  if (send.cursor != send.flights.tail()) return load_again(send, send.flights[send.cursor]);
  const SendQueue& queue = send.queue;
  if (send.stopped || queue.started() == queue.producer() || send.flights.full()) {
    return Load::blocked;
  }
  Fault fault;
  const SendQueue::Read read = send.queue.read_next(core_, send.request, fault);
  if (read == SendQueue::Read::pending) return Load::pending;
  if (!fault) fault = find_sges(send);
  if (!fault && !may_start(send)) return Load::blocked;
  if (!fault && send.dc != nullptr && !reach_target(send, fault)) return Load::blocked;
  start(send, fault);
  if (core_.trace != nullptr) tell_begin(send);
  return Load::loaded;
}

bool Requester::may_start(const RcSend& send) const {
  const Request& request = send.request;
  switch (request.fence) {
    case format::FenceMode::fence:
    case format::FenceMode::fence_and_small:
      if (send.unfinished_reads != 0) return false;
      break;
    case format::FenceMode::strong:
      if (!send.flights.empty()) return false;
      break;
    // WQEs that change keys do so as they start: a small fence finds nothing to wait for.
    default: break;
  }
  return !has_response_data(request.kind) ||
         send.unfinished_reads < (1u << send.qp.settings.log_sra_max);
}

void Requester::start(RcSend& send, Fault fault) {
  const Request& request = send.request;
  Flight& flight = send.flights.push();
  flight.index = static_cast<std::uint32_t>(send.queue.started());
  flight.length = static_cast<std::uint32_t>(request.length);
  flight.first_psn = flight.last_psn = send.next_psn;
  flight.kind = request.kind;
  flight.opcode = request.opcode;
  flight.completion = request.completion;
  flight.wqebbs = request.wqebbs;
  flight.fault = fault;
  send.queue.start(request.wqebbs);
  if (!fault && request.kind >= RequestKind::read) start_special(send, flight);
  if (flight.fault) {
    flight.kind = RequestKind::nop;
    send.stopped = true;
    send.cursor = send.flights.tail();
    return;
  }
  send.psn = send.next_psn;
  send.gather = {};
  send.loaded = true;
}

// Out of line: a WRITE is none of these.
void Requester::start_special(RcSend& send, Flight& flight) {
  if (has_response_data(flight.kind)) {
    ++send.unfinished_reads;
    record_scatter(send, flight);
    return;
  }
  flight.fault = change_key(core_, send.qp, send.request, flight.op);
  // It has been done, and is not done again if packets before it are sent again.
  flight.kind = RequestKind::nop;
}

void Requester::record_scatter(RcSend& send, Flight& flight) {
  if (send.scatters.empty()) send.scatters.resize(std::size_t{1} << send.qp.settings.log_sra_max);
  flight.scatter = static_cast<std::uint8_t>(send.next_scatter);
  send.next_scatter = (send.next_scatter + 1) & ((1u << send.qp.settings.log_sra_max) - 1);
  ScatterList& list = send.scatters[flight.scatter];
  list.atomic_size = send.request.kind == RequestKind::atomic ? send.request.atomic.size : 0;
  list.sges.clear();
  for (std::uint32_t i = 0; i < send.request.sge_count; ++i) {
    const Sge& sge = send.request.sges[i];
    list.sges.push_back({sge.iova, sge.size, sge.lkey});
  }
}

// The cursor's flight has been started before: its WQE is read again, and must be what it was.
Requester::Load Requester::load_again(RcSend& send, Flight& flight) {
  const bool nothing_to_send = flight.kind == RequestKind::nop ||
                               (flight.kind == RequestKind::dump && flight.sent) ||
                               flight.answered || flight.fault;
  if (nothing_to_send) {
    // A NOP may have been started and not sent when the queue went back.
    finish_sending(send, flight);
    return Load::loaded;
  }
  Fault fault;
  const SendQueue::Read read =
      send.queue.read_again(core_, send.index_of(flight), flight.wqebbs, send.request, fault);
  if (read == SendQueue::Read::pending) return Load::pending;
  if (!fault) fault = find_sges(send);
  const Request& request = send.request;
  const bool same = request.opcode == flight.opcode && request.wqebbs == flight.wqebbs &&
                    request.length == flight.length;
  if (!fault && !same) fault = kMalformedWqe;
  if (fault) {
    fail_at(send, send.cursor, fault);
    return Load::loaded;
  }
  send.gather = {};
  send.loaded = true;
  // The packets that are acknowledged already are counted, not sent.
  GDAKIT_ASSERT(psn_distance(send.psn, flight.first_psn) >= 0);
  if (flight.kind == RequestKind::write || flight.kind == RequestKind::send) {
    const auto psns = static_cast<std::uint64_t>(psn_distance(send.psn, flight.first_psn));
    send.gather.advance(send.request, psns * send.connection.psn_bytes);
  }
  return Load::loaded;
}

// The queue pair has failed: what was done before is told as such; the rest of what was started is
// given up, and flushed with all that is announced.
Turn Requester::flush(RcSend& send) {
  if (!send.abandoned) {
    const Turn told = complete(send);
    if (told.pending) return told;
    abandon(send);
  }
  if (!withdraw(send)) return {.pending = true};
  return send.queue.flush(core_);
}

void Requester::abandon(RcSend& send) {
  send.abandoned = true;
  send.flights.truncate(send.flights.head());
  send.cursor = send.flights.tail();
  send.ahead.reset();
  send.unfinished_reads = 0;
  send.loaded = false;
  send.timer_ns = 0;
  send.late_ns = 0;
  send.blocked_until_ns = 0;
  if (send.dc != nullptr) hang_up(send);
  send.queue.begin_flush();
}

}  // namespace gdakit::softnic
