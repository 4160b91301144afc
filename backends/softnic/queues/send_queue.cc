#include "backends/softnic/queues/send_queue.h"

#include <algorithm>
#include <cstring>

#include "backends/softnic/queues/make_cqe.h"
#include "core/format/doorbell.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kFlushesPerTurn = 64;
// A thread may be held up for long between the record and the doorbell.
constexpr std::uint64_t kDoorbellIsLostNs = 1'000'000'000;

format::ControlSegment control_of(const std::uint8_t* wqe) {
  format::ControlSegment control;
  std::memcpy(&control, wqe, sizeof control);
  return control;
}

}  // namespace

void SendQueue::begin(std::uint64_t counter) {
  producer_ = started_ = completed_ = counter;
  fetch_begin_ = fetch_end_ = counter;
  // What was announced before this moment is found in the record.
  look_at_record_again();
  unrung_.is_expected = true;
}

void SendQueue::ring(std::uint16_t hint) {
  unrung_.pending = false;
  const std::uint64_t advance = producer_advance(producer_, hint, qp_.send_depth());
  // So far behind is an old doorbell, too, whose record has been seen. The record tells them apart;
  // where there is none, no doorbell passes a later one.
  constexpr std::uint64_t kHalfOfTheNumbers = 1 << 15;
  if (advance == kHalfOfTheNumbers && !qp_.attributes.no_send_record) {
    look_at_record_again();
  } else {
    producer_ += advance;
    qp_.counters.posted_wqebbs += advance;
    record_.rung |= advance != 0;
  }
}

void SendQueue::ring_for_record(std::uint16_t hint) {
  const bool is_later = producer_advance(producer_, hint, qp_.send_depth()) != 0;
  if (unrung_.pending && is_later) ++qp_.counters.lost_doorbells;
  unrung_.pending = false;
  unrung_.is_expected = true;
  look_at_record_again();
}

// The record may have changed since it was last read.
void SendQueue::sweep_record(std::uint64_t now_ns) {
  if (qp_.attributes.no_send_record) return;
  record_.look();
  if (!unrung_.pending || now_ns - unrung_.since_ns < kDoorbellIsLostNs) return;
  unrung_.pending = false;
  ++qp_.counters.lost_doorbells;
}

void SendQueue::record_arrived(std::uint64_t before, std::uint64_t now_ns) {
  qp_.counters.posted_wqebbs += producer_ - before;
  if (producer_ != before && !unrung_.is_expected) unrung_ = {.pending = true, .since_ns = now_ns};
  if (!record_.wanted) unrung_.is_expected = false;
}

bool SendQueue::update_producer(QueueCore& core) {
  const std::uint64_t before = producer_;
  const DmaAddress record =
      qp_.attributes.doorbell_record + offsetof(format::DoorbellRecord, snd_dbr);
  const bool arrived = core.poll_record(record_, record, producer_, qp_.send_depth());
  if (arrived) record_arrived(before, core.now_ns);
  return producer_ != before;
}

// The private copy of `wqebbs` WQEBBs from `index` on, or of all that are announced if those are
// fewer. Null while they are on their way.
const std::uint8_t* SendQueue::fetch(QueueCore& core, std::uint64_t index, std::uint64_t wqebbs) {
  if (fetching_) {
    if (!core.done(fetch_op_)) return nullptr;
    fetching_ = false;
    if (core.trace != nullptr) {
      core.trace->fetched(qp_.number, fetch_begin_, fetch_end_ - fetch_begin_, fetch_began_ns_);
    }
  }
  // No more than there are slots, however far a doorbell says that the client is ahead.
  const std::uint64_t end = std::min({index + wqebbs, index + qp_.send_depth(), producer_});
  const bool here = index >= fetch_begin_ && end <= fetch_end_;
  if (here) return &fetched_[(index - fetch_begin_) * format::kWqebbBytes];
  begin_fetch(core, index);
  return fetch(core, index, wqebbs);
}

void SendQueue::begin_fetch(QueueCore& core, std::uint64_t index) {
  if (fetched_ == nullptr) fetched_ = core.fetch_buffers.take();
  const std::uint64_t depth = qp_.send_depth();
  const std::uint64_t count = std::min({std::uint64_t{kFetchWqebbs}, producer_ - index, depth});
  const std::uint64_t slot = index & (depth - 1);
  const std::uint64_t before_end = std::min(count, depth - slot);
  qp_.counters.fetched_wqebbs += count;
  if (core.trace != nullptr) fetch_began_ns_ = NicTrace::now_ns();
  fetch_op_ = {};
  const auto read = [&](std::uint64_t from_slot, std::uint64_t at, std::uint64_t size) {
    const DmaOp op = core.port.read(&fetched_[at * format::kWqebbBytes],
                                    qp_.attributes.send_queue + from_slot * format::kWqebbBytes,
                                    size * format::kWqebbBytes);
    if (op.id != 0) fetch_op_ = op;
  };
  read(slot, 0, before_end);
  if (before_end != count) read(0, before_end, count - before_end);
  if (fetch_op_.id != 0) fetch_op_ = core.port.read_fence();
  fetch_begin_ = index;
  fetch_end_ = index + count;
  fetching_ = true;
}

Fault SendQueue::decode_at(std::uint64_t index, const std::uint8_t* wqe, Request& request) const {
  const std::uint64_t available = std::min(fetch_end_, producer_) - index;
  WqePlace place;
  place.index = index;
  place.available_wqebbs = static_cast<std::uint32_t>(
      std::min({available, std::uint64_t{format::kMaxWqebbs}, qp_.send_depth()}));
  place.qpn = qp_.number;
  place.queue = qp_.attributes.send_queue;
  place.queue_bytes = qp_.send_depth() * format::kWqebbBytes;
  place.log_msg_max = qp_.settings.log_msg_max;
  place.service = qp_.attributes.service;
  return decode(wqe, place, request);
}

SendQueue::Read SendQueue::read_next(QueueCore& core, Request& request, Fault& fault) {
  const std::uint8_t* const first = fetch(core, started_, 1);
  if (first == nullptr) return Read::pending;
  const std::uint32_t wqebbs = format::wqebbs_of(control_of(first).ds());
  if (wqebbs > 1) {
    if (read_again(core, started_, wqebbs, request, fault) == Read::pending) return Read::pending;
  } else {
    fault = decode_at(started_, first, request);
  }
  const bool has_list =
      !fault && request.kind == RequestKind::key_change && request.key_change->entries_at;
  return has_list ? read_list(core, *request.key_change, fault) : Read::done;
}

SendQueue::Read SendQueue::read_list(QueueCore& core, KeyChange& change, Fault& fault) {
  if (list_ == nullptr) list_ = std::make_unique<ListRead>();
  return list_->read(core, qp_, started_, change, fault) ? Read::done : Read::pending;
}

SendQueue::Read SendQueue::read_again(QueueCore& core, std::uint64_t index, std::uint32_t wqebbs,
                                      Request& request, Fault& fault) {
  const std::uint8_t* const wqe = fetch(core, index, wqebbs);
  if (wqe == nullptr) return Read::pending;
  fault = decode_at(index, wqe, request);
  return Read::done;
}

void SendQueue::begin_flush() {
  started_ = completed_;
  look_at_record_again();
}

Turn SendQueue::flush(QueueCore& core, std::uint64_t end) {
  Turn turn;
  for (std::uint32_t i = 0; i < kFlushesPerTurn && completed_ < std::min(producer_, end); ++i) {
    const std::uint8_t* const wqe = fetch(core, completed_, 1);
    turn.pending = true;
    if (wqe == nullptr) return turn;
    const format::ControlSegment control = control_of(wqe);
    format::Cqe64 cqe =
        make_error_cqe(qp_, format::CqeOpcode::requester_error,
                       static_cast<std::uint16_t>(completed_), control.opcode(), kFlushed);
    if (!core.post_cqe(qp_, *qp_.send_cq, cqe)) return turn;
    if (core.trace != nullptr) {
      core.trace->wqe_ends(qp_.number, static_cast<std::uint32_t>(completed_), control.opcode(),
                           TraceEnd::flushed);
    }
    // A WQE that says nothing sensible about its length is taken for the shortest.
    const bool stale = control.wqe_index() != static_cast<std::uint16_t>(completed_);
    const std::uint32_t wqebbs = stale ? 1 : std::max(1u, format::wqebbs_of(control.ds()));
    completed_ += std::min<std::uint64_t>(wqebbs, producer_ - completed_);
    started_ = completed_;
    ++qp_.counters.wqes;
    ++qp_.counters.req_cqe_error;
    ++qp_.counters.req_cqe_flush_error;
    turn.worked = true;
  }
  turn.pending = completed_ != producer_ || !record_.idle();
  return turn;
}

void SendQueue::give_back(QueueCore& core) {
  if (fetched_ != nullptr) core.fetch_buffers.give_back(fetched_);
  fetched_ = nullptr;
  fetch_end_ = fetch_begin_;
}

void SendQueue::give_back_if_unneeded(QueueCore& core) {
  if (fetched_ == nullptr || (fetch_begin_ <= started_ && started_ < fetch_end_)) return;
  if (fetching_ && !core.done(fetch_op_)) return;
  fetching_ = false;
  give_back(core);
}

}  // namespace gdakit::softnic
