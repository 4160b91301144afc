// Launches that find no room: they are cancelled, and their works go through the copy engine on the
// other stream.
#include <algorithm>
#include <atomic>

#include "backends/softnic/gpu/gpu_order.h"

namespace gdakit::softnic {

// True: the launch will do nothing. False: it has begun, and does its work.
bool GpuOrder::cancel(std::uint32_t slot) {
  GpuControl& control = controls_[slot];
  __atomic_store_n(&control.cancel, 1, __ATOMIC_SEQ_CST);
  // Orders   the cancelling
  // before   the look at `started`,
  // for      a kernel that says that it has started and then looks whether it is cancelled.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (__atomic_load_n(&control.started, __ATOMIC_SEQ_CST) == 0) return true;
  // It runs: the verdict is a few microseconds away.
  while (true) {
    const std::uint32_t verdict = __atomic_load_n(&control.verdict, __ATOMIC_ACQUIRE);
    if (verdict != 0) return verdict == kVerdictCancelled;
    if (device_->failed()) return true;
  }
}

void GpuOrder::look_for_stuck() {
  // Copies always get done; behind a kernel there are none.
  if (kernels_ == 0 || !flights_.front().kernel) return;
  const Flight& front = flights_.front();
  const std::uint64_t issued_ns =
      __atomic_load_n(&controls_[front.slot].issued_ns, __ATOMIC_ACQUIRE);
  const std::uint64_t patience_ns = issued_ns != 0 ? options_.stuck_ns : options_.unissued_ns;
  if (now_ns_ < std::max(front_since_ns_, issued_ns) + patience_ns) return;
  const bool started = __atomic_load_n(&controls_[front.slot].started, __ATOMIC_ACQUIRE) != 0;
  if (started && !front.told) return;
  // From the last to the first: no launch can begin once the one before it is known not to.
  std::vector<std::uint32_t> cancelled;
  while (!flights_.empty()) {
    const Flight& last = flights_[flights_.tail() - 1];
    if (last.told || !cancel(last.slot)) break;
    cancelled.push_back(last.slot);
    take_back(last);
    flights_.truncate(flights_.tail() - 1);
    --kernels_;
    ++counts_.cancelled;
  }
  if (!flights_.empty()) {
    const Flight& first = flights_.front();
    const bool only_leaves = first.told && flights_.tail() - flights_.head() == 1;
    if (!only_leaves) {
      // The stream moves on; what was cancelled drains with it, and is launched anew.
      front_since_ns_ = now_ns_;
      return;
    }
    cancelled.push_back(first.slot);
    flights_.pop();
    --kernels_;
  }
  blocked_ = std::move(cancelled);
  current_ = 1 - current_;
}

// The works of a cancelled launch go on where it would have begun.
void GpuOrder::take_back(const Flight& flight) {
  next_ = begin_of(flight);
  for (std::uint64_t number = next_; number != flight.end; ++number) {
    GpuWork& work = *works_[number];
    work.next_level = std::min(work.next_level, flight.level);
  }
}

// The other stream is free once its last launches have ended.
void GpuOrder::look_for_drained() {
  for (const std::uint32_t slot : blocked_) {
    if (__atomic_load_n(&controls_[slot].left, __ATOMIC_ACQUIRE) == 0) return;
  }
  blocked_.clear();
}

}  // namespace gdakit::softnic
