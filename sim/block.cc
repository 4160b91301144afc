#include "sim/block.h"

#include <algorithm>
#include <utility>

#include "sim/scheduler.h"

namespace gdakit::sim {

Block::Block(Scheduler& scheduler, std::vector<Thread*> threads)
    : scheduler_(scheduler), threads_(std::move(threads)) {
  warps_.reserve((threads_.size() + kWarpSize - 1) / kWarpSize);  // threads point into it
  for (std::size_t first = 0; first < threads_.size(); first += kWarpSize) {
    const std::size_t end = std::min<std::size_t>(first + kWarpSize, threads_.size());
    const std::vector<Thread*> lanes(&threads_[first], threads_.data() + end);
    Warp& warp = warps_.emplace_back(scheduler_, lanes);
    for (Thread* thread : lanes) {
      thread->scheduler = &scheduler_;
      thread->block = this;
      thread->warp = &warp;
    }
  }
}

bool Block::sync(Thread& self, bool predicate) {
  ++arrived_;
  any_ |= predicate;
  if (all_arrived()) {
    release();
  } else {
    self.waits_in = Operation::sync_block;
    self.waits_mask = 0;
    scheduler_.yield(self, Reason::blocked);
  }
  return last_any_;  // the next barrier needs this thread
}

void Block::exit(Thread& self) {
  self.warp->exit(self);
  ++exited_;
  if (arrived_ != 0 && all_arrived()) release();
}

void Block::release() {
  arrived_ = 0;
  last_any_ = std::exchange(any_, false);
  for (Thread* thread : threads_) {
    if (thread->waits_in != Operation::sync_block) continue;
    thread->waits_in = Operation::none;
    scheduler_.wake(*thread);
  }
}

std::string Block::describe() const {
  std::string text;
  for (const Warp& warp : warps_) text += warp.describe();
  return text;
}

}  // namespace gdakit::sim
