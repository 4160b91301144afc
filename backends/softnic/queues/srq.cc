#include "backends/softnic/queues/srq.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "core/format/srq.h"

namespace gdakit::softnic {

void Srq::read_record(QueueCore& core) {
  while (core.poll_record(record_, attributes_.doorbell_record, producer_, depth())) ++reads_;
}

// Whether the record has been read since the queue pair asked. A read that was on its way then may
// have missed what was posted before.
bool Srq::has_looked(QueueCore& core, Ask& ask) {
  if (ask.reads == 0) {
    ask.reads = reads_ + (record_.reading ? 2 : 1);
    record_.look_again();
  }
  read_record(core);
  return reads_ >= ask.reads;
}

// False: the list leads out of the queue.
bool Srq::begin_fetch(QueueCore& core) {
  const std::uint64_t mask = depth() - 1;
  const bool is_list = attributes_.form == SrqForm::list;
  const std::uint64_t index = is_list ? next_ : consumer_ & mask;
  if (index > mask) {
    error_ = true;
    core.tell({EventKind::srq_error, number_});
    return false;
  }
  fetched_.resize(std::size_t{1} << attributes_.log_stride);
  fetch_op_ =
      core.port.read(fetched_.data(), attributes_.wqes + index * fetched_.size(), fetched_.size());
  fetching_ = true;
  return true;
}

void Srq::take(QueueCore& core, ReceiveWqe& wqe) {
  fetching_ = false;
  std::swap(wqe.bytes, fetched_);
  wqe.index = static_cast<std::uint16_t>(consumer_++);
  wqe.pd = attributes_.pd;
  wqe.begin(attributes_.form == SrqForm::basic_cyclic ? 0 : 1);
  if (attributes_.form == SrqForm::list) {
    format::SrqNextSegment link;
    std::memcpy(&link, wqe.bytes.data(), sizeof link);
    wqe.index = std::exchange(next_, link.next_wqe_index);
  }
  if (left() >= limit_) return;
  record_.look_again();
  core.activate(*this);
}

ReceiveSource::Claim Srq::claim(QueueCore& core, Ask& ask, ReceiveWqe& wqe) {
  using Claim = ReceiveSource::Claim;
  if (error_) return Claim::broken;
  if (!fetching_) {
    const bool looks = left() == 0;
    if (looks && !has_looked(core, ask)) return Claim::again;
    ask = {};
    if (left() == 0) return Claim::none;
    if (!begin_fetch(core)) return Claim::broken;
  }
  if (!core.done(fetch_op_)) return Claim::again;
  ask = {};
  take(core, wqe);
  return Claim::claimed;
}

void Srq::arm(QueueCore& core, std::uint32_t limit) {
  limit_ = limit;
  if (limit == 0) return;
  record_.look_again();
  core.activate(*this);
}

Turn Srq::work(QueueCore& core) {
  read_record(core);
  if (!record_.idle()) return {.pending = true};
  if (left() >= limit_) return {};
  limit_ = 0;
  core.tell({EventKind::srq_limit, number_});
  return {.worked = true};
}

SrqInfo Srq::info() const {
  return {.error = error_,
          .limit = limit_,
          .posted = static_cast<std::uint16_t>(producer_),
          .taken = static_cast<std::uint16_t>(consumer_)};
}

std::vector<MemoryRange> Srq::memory() const {
  return {{attributes_.wqes, depth() << attributes_.log_stride},
          {attributes_.doorbell_record, sizeof(format::SrqDoorbellRecord)}};
}

Turn SrqShare::flush(QueueCore& core) {
  if (last_ == LastWqe::told) return {};
  if (last_ == LastWqe::none) fence_ = core.port.fence();
  last_ = LastWqe::completes;
  if (!core.done(fence_)) return {.pending = true};
  last_ = LastWqe::told;
  core.tell({EventKind::last_wqe, qp_.number});
  return {.worked = true};
}

}  // namespace gdakit::softnic
