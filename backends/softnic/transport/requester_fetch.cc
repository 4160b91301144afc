// From the doorbell to the flight: producer counter, WQE fetch, decoding, starting, and flushing in
// state err.
#include <algorithm>
#include <cstring>

#include "backends/softnic/transport/cqe_writer.h"
#include "backends/softnic/transport/payload.h"
#include "backends/softnic/transport/requester.h"
#include "core/format/doorbell.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kFlushesPerTurn = 64;
// PSNs on their way: far less than half of all, so that an answer is never taken for one of another
// lap.
constexpr std::int32_t kPsnWindow = 1 << 21;

DmaAddress send_record(const Qp& qp) {
  return qp.attributes.doorbell_record + offsetof(format::DoorbellRecord, snd_dbr);
}

}  // namespace

void Requester::ring(Qp& qp, std::uint16_t hint) {
  const std::uint64_t advance = producer_advance(qp.send.producer, hint, qp.depth());
  // So far behind is an old doorbell, too, whose record has been seen. The record tells them apart.
  constexpr std::uint64_t kHalfOfTheNumbers = 1 << 15;
  if (advance == kHalfOfTheNumbers) {
    qp.send.record.wanted = true;
  } else {
    qp.send.producer += advance;
    qp.send.record.rung |= advance != 0;
  }
}

bool Requester::update_producer(Qp& qp) {
  SendSide& send = qp.send;
  const std::uint64_t before = send.producer;
  core_.poll_record(send.record, send_record(qp), send.producer, qp.depth());
  return send.producer != before;
}

// The private copy of `wqebbs` WQEBBs from `index` on, or of all that are announced if those are
// fewer. Null while they are on their way.
const std::uint8_t* Requester::fetch(Qp& qp, std::uint64_t index, std::uint64_t wqebbs) {
  SendSide& send = qp.send;
  if (send.fetching) {
    if (!core_.done(send.fetch_op)) return nullptr;
    send.fetching = false;
  }
  const std::uint64_t end = std::min(index + wqebbs, send.producer);
  const bool here = index >= send.fetch_begin && end <= send.fetch_end;
  if (here) return &send.fetched[(index - send.fetch_begin) * format::kWqebbBytes];

  if (send.fetched == nullptr) send.fetched = buffers_.take();
  // No more than there are slots, however far a doorbell says that the client is ahead.
  const std::uint64_t count =
      std::min({std::uint64_t{kFetchWqebbs}, send.producer - index, qp.depth()});
  const std::uint64_t slot = index & (qp.depth() - 1);
  const std::uint64_t before_end = std::min(count, qp.depth() - slot);
  const auto read = [&](std::uint64_t from_slot, std::uint64_t at, std::uint64_t size) {
    const DmaOp op = core_.port.read(&send.fetched[at * format::kWqebbBytes],
                                     qp.attributes.send_queue + from_slot * format::kWqebbBytes,
                                     size * format::kWqebbBytes);
    if (op.id != 0) send.fetch_op = op;
  };
  send.fetch_op = {};
  read(slot, 0, before_end);
  if (before_end != count) read(0, before_end, count - before_end);
  if (send.fetch_op.id != 0) send.fetch_op = core_.port.read_fence();
  send.fetch_begin = index;
  send.fetch_end = index + count;
  send.fetching = true;
  return fetch(qp, index, wqebbs);
}

void Requester::give_back(Qp& qp) {
  SendSide& send = qp.send;
  if (send.fetched != nullptr) buffers_.give_back(send.fetched);
  send.fetched = nullptr;
  send.fetch_end = send.fetch_begin;
}

// The private copy goes when the last of its WQEs has been started, and need not be sent again.
void Requester::give_back_if_unneeded(Qp& qp) {
  SendSide& send = qp.send;
  if (send.fetched == nullptr || send.loaded || send.cursor != send.flights.tail()) return;
  const std::uint64_t next = qp.state == QpState::err ? send.completed : send.started;
  if (send.fetch_begin <= next && next < send.fetch_end) return;
  if (send.fetching && !core_.done(send.fetch_op)) return;
  send.fetching = false;
  give_back(qp);
}

Fault Requester::decode_at(Qp& qp, std::uint64_t index, const std::uint8_t* wqe) {
  const std::uint64_t available = std::min(qp.send.fetch_end, qp.send.producer) - index;
  WqePlace place;
  place.index = index;
  place.available_wqebbs = static_cast<std::uint32_t>(
      std::min({available, std::uint64_t{format::kMaxWqebbs}, qp.depth()}));
  place.qpn = qp.number;
  place.queue = qp.attributes.send_queue;
  place.queue_bytes = qp.depth() * format::kWqebbBytes;
  place.log_msg_max = qp.path.log_msg_max;
  Request& request = qp.send.request;
  if (const Fault fault = decode(wqe, place, request)) return fault;
  qp.send.removals = core_.keys.removals();
  // Where responses go is looked up as they come: what is wrong at the peer is told first.
  if (has_response_data(request.kind)) return {};
  return resolve_sges(core_.keys, qp.attributes.pd, qp.number, Access::local_read, request);
}

// Makes the cursor's WQE the current request.
Requester::Load Requester::load(Qp& qp) {
  SendSide& send = qp.send;
  if (send.cursor != send.flights.tail()) return load_again(qp, send.flights[send.cursor]);
  if (send.stopped || send.started == send.producer || send.flights.full()) return Load::blocked;
  if (psn_distance(send.next_psn, send.unacked_psn) >= kPsnWindow) return Load::blocked;
  const std::uint8_t* wqe = fetch(qp, send.started, 1);
  if (wqe == nullptr) return Load::pending;
  format::ControlSegment control;
  std::memcpy(&control, wqe, sizeof control);
  wqe = fetch(qp, send.started, format::wqebbs_of(control.ds()));
  if (wqe == nullptr) return Load::pending;
  const Fault fault = decode_at(qp, send.started, wqe);
  if (!fault && !may_start(qp)) return Load::blocked;
  start(qp, fault);
  return Load::loaded;
}

bool Requester::may_start(Qp& qp) const {
  const SendSide& send = qp.send;
  const Request& request = send.request;
  switch (request.fence) {
    case format::FenceMode::fence:
    case format::FenceMode::fence_and_small:
      if (send.unfinished_reads != 0) return false;
      break;
    case format::FenceMode::strong:
      if (!send.flights.empty()) return false;
      break;
    default: break;  // memory keys change between steps: a small fence finds nothing to wait for
  }
  return !has_response_data(request.kind) || send.unfinished_reads < (1u << qp.path.log_sra_max);
}

void Requester::start(Qp& qp, Fault fault) {
  SendSide& send = qp.send;
  const Request& request = send.request;
  Flight& flight = send.flights.push();
  flight.index = static_cast<std::uint32_t>(send.started);
  flight.length = static_cast<std::uint32_t>(request.length);
  flight.first_psn = flight.last_psn = send.next_psn;
  flight.kind = request.kind;
  flight.opcode = request.opcode;
  flight.completion = request.completion;
  flight.wqebbs = request.wqebbs;
  flight.fault = fault;
  send.started += request.wqebbs;
  if (fault) {
    flight.kind = RequestKind::nop;
    send.stopped = true;
    send.cursor = send.flights.tail();
    return;
  }
  if (has_response_data(request.kind)) {
    ++send.unfinished_reads;
    record_scatter(qp, flight);
  }
  send.psn = send.next_psn;
  rewind_sges(send);
  send.loaded = true;
}

void Requester::record_scatter(Qp& qp, Flight& flight) {
  SendSide& send = qp.send;
  if (send.scatters.empty()) send.scatters.resize(std::size_t{1} << qp.path.log_sra_max);
  flight.scatter = static_cast<std::uint8_t>(send.next_scatter);
  send.next_scatter = (send.next_scatter + 1) & ((1u << qp.path.log_sra_max) - 1);
  ScatterList& list = send.scatters[flight.scatter];
  list.atomic_size = send.request.kind == RequestKind::atomic ? send.request.atomic.size : 0;
  list.sges.clear();
  for (std::uint32_t i = 0; i < send.request.sge_count; ++i) {
    const Sge& sge = send.request.sges[i];
    list.sges.push_back({sge.iova, sge.size, sge.lkey});
  }
}

// The cursor's flight has been started before: its WQE is read again, and must be what it was.
Requester::Load Requester::load_again(Qp& qp, Flight& flight) {
  SendSide& send = qp.send;
  const bool nothing_to_send = flight.kind == RequestKind::nop ||
                               (flight.kind == RequestKind::dump && flight.sent) ||
                               flight.answered || flight.fault;
  if (nothing_to_send) {
    // A NOP may have been started and not sent when the queue went back.
    finish_sending(qp, flight);
    return Load::loaded;
  }
  const std::uint64_t index = send.index_of(flight);
  const std::uint8_t* wqe = fetch(qp, index, flight.wqebbs);
  if (wqe == nullptr) return Load::pending;
  Fault fault = decode_at(qp, index, wqe);
  const Request& request = send.request;
  const bool same = request.opcode == flight.opcode && request.wqebbs == flight.wqebbs &&
                    request.length == flight.length;
  if (!fault && !same) fault = kMalformedWqe;
  if (fault) {
    fail_at(qp, send.cursor, fault);
    return Load::loaded;
  }
  rewind_sges(send);
  send.loaded = true;
  // The packets that are acknowledged already are counted, not sent.
  GDAKIT_ASSERT(psn_distance(send.psn, flight.first_psn) >= 0);
  if (flight.kind == RequestKind::write || flight.kind == RequestKind::send) {
    const auto psns = static_cast<std::uint64_t>(psn_distance(send.psn, flight.first_psn));
    advance_sges(send, psns * core_.psn_bytes);
  }
  return Load::loaded;
}

// In state err: every WQE that is announced and not completed completes in order, flushed.
Turn Requester::flush(Qp& qp) {
  SendSide& send = qp.send;
  Turn turn;
  if (!withdraw(qp)) {
    turn.pending = true;
    return turn;
  }
  for (std::uint32_t i = 0; i < kFlushesPerTurn && send.completed != send.producer; ++i) {
    const std::uint8_t* wqe = fetch(qp, send.completed, 1);
    if (wqe == nullptr) {
      turn.pending = true;
      return turn;
    }
    format::ControlSegment control;
    std::memcpy(&control, wqe, sizeof control);
    // A WQE that says nothing sensible about its length is taken for the shortest.
    const bool stale = control.wqe_index() != static_cast<std::uint16_t>(send.completed);
    const std::uint32_t wqebbs = stale ? 1 : std::max(1u, format::wqebbs_of(control.ds()));
    format::Cqe64 cqe = make_error_cqe(qp, format::CqeOpcode::requester_error,
                                       static_cast<std::uint16_t>(send.completed), control.opcode(),
                                       {format::Syndrome::flushed, format::vendor::flushed});
    if (!core_.post_cqe(*qp.send_cq, cqe)) {
      turn.pending = true;
      return turn;
    }
    send.completed += std::min<std::uint64_t>(wqebbs, send.producer - send.completed);
    ++core_.counters.wqes;
    turn.worked = true;
  }
  turn.pending = send.completed != send.producer;
  return turn;
}

}  // namespace gdakit::softnic
