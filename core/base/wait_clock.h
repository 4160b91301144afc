// WaitClock: the time that waits are measured by. It stands still while this process is stopped
// (a debugger, ^Z, a machine that is suspended), and while its owner says that somebody is for whom
// the waits wait.
//
//   steady time   0 .... 1 .... 2 ............... 60 .... 61
//                        stopped ^                ^ goes on
//   WaitClock     0 .... 1 .... 2 --------------- 2 ..... 3
//
// It needs one thread that ticks it: it runs ahead of the last tick by kLead at most, so a process
// in which nothing runs has no time. A machine that is too busy for the ticks only makes it slow.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace gdakit {

inline std::uint64_t steady_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

class WaitClock {
 public:
  static constexpr std::uint64_t kLead = 200'000'000;

  // Monotonic; any thread. As steady_ns before the first tick.
  std::uint64_t now_ns() const { return now_by(steady_ns); }
  // The same where `steady()` is the steady time.
  template <class Steady>
  std::uint64_t now_by(Steady&& steady) const {
    // In this order, so that no thread sees it go back: what was taken off belongs to this limit or
    // to a later tick, and that tick is over when the steady time is read.
    const std::uint64_t limit = limit_.load(std::memory_order_acquire);
    const std::uint64_t taken_off = taken_off_.load(std::memory_order_acquire);
    return std::min(steady() - taken_off, limit);
  }

  // By one thread. `stands`: it goes no further than the last tick has let it.
  void tick(std::uint64_t steady, bool stands) {
    std::uint64_t taken_off = taken_off_.load(std::memory_order_relaxed);
    const std::uint64_t limit = limit_.load(std::memory_order_relaxed);
    if (steady - taken_off > limit) {
      taken_off = steady - limit;
      taken_off_.store(taken_off, std::memory_order_release);
    }
    if (!stands) limit_.store(steady - taken_off + kLead, std::memory_order_release);
  }

  // Nobody ticks it any more: from now on it runs by itself.
  void run_freely(std::uint64_t steady) {
    tick(steady, /*stands=*/true);
    limit_.store(~std::uint64_t{0}, std::memory_order_release);
  }

 private:
  std::atomic<std::uint64_t> taken_off_{0};
  std::atomic<std::uint64_t> limit_{~std::uint64_t{0}};
};

// A limit to one wait by such a clock, or by steady time if there is none.
//
//   WaitLimit limit(clock, timeout);
//   while (!done_within(limit.rest())) {
//     if (limit.passed()) return timed_out;
//   }
class WaitLimit {
 public:
  WaitLimit(std::shared_ptr<const WaitClock> clock, std::chrono::nanoseconds limit)
      : clock_(std::move(clock)), limit_(limit), began_ns_(now_ns()) {}

  bool passed() const { return waited() >= limit_; }
  // When to look again: not at once even where the clock stands just before the limit.
  std::chrono::nanoseconds rest() const {
    constexpr std::chrono::nanoseconds kShortest = std::chrono::milliseconds(10);
    return std::max(limit_ - waited(), kShortest);
  }

 private:
  std::uint64_t now_ns() const { return clock_ == nullptr ? steady_ns() : clock_->now_ns(); }
  std::chrono::nanoseconds waited() const { return std::chrono::nanoseconds(now_ns() - began_ns_); }

  std::shared_ptr<const WaitClock> clock_;
  std::chrono::nanoseconds limit_;
  std::uint64_t began_ns_;
};

}  // namespace gdakit
