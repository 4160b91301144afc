#include "backends/softnic/engine/nic_thread.h"

#include <algorithm>
#include <chrono>

#include "core/base/idle_sleep.h"
#include "core/base/library_thread.h"
#include "core/base/wait_clock.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint64_t kUs = 1000;  // in ns

}  // namespace

NicThread::NicThread(const NicThreadOptions& options, Engine& engine, UarPages& pages)
    : options_(options),
      engine_(engine),
      pages_(pages),
      pace_(options.pace),
      woken_ns_(steady_ns()),
      next_pace_(options.pace),
      thread_(start_library_thread([this] { run(); })) {}

NicThread::~NicThread() {
  stopping_.store(true, std::memory_order_relaxed);
  wake();
  thread_.join();
}

void NicThread::pause() {
  locked([this] { paused_ = true; });
}

void NicThread::resume() {
  locked([this] { paused_ = false; });
  wake();
}

void NicThread::set_pace(const NicThreadPace& pace) {
  {
    const std::lock_guard lock(sleep_mutex_);
    next_pace_ = pace;
    awake_ = true;
  }
  woken_.notify_one();
}

void NicThread::wake() {
  {
    const std::lock_guard lock(sleep_mutex_);
    awake_ = true;
  }
  woken_.notify_one();
}

void NicThread::sleep(std::chrono::nanoseconds duration) {
  std::unique_lock lock(sleep_mutex_);
  if (!woken_.wait_for(lock, duration, [this] { return awake_; })) return;
  awake_ = false;
  pace_ = next_pace_;
  woken_ns_ = steady_ns();
  // Who helped before is not who waits now.
  seen_helps_ = helps_.load(std::memory_order_relaxed);
}

// With one look at the clock. Under the lock.
bool NicThread::run_steps(std::uint32_t most, bool thorough) {
  state_.engine_waits = false;
  if (paused_) return false;
  const std::uint64_t now = steady_ns();
  bool worked = false;
  for (std::uint32_t i = 0; i < most; ++i) {
    bool step_worked = pages_.poll(engine_, thorough && i == 0);
    step_worked |= engine_.step(now);
    worked |= step_worked;
    if (!step_worked) break;
  }
  state_.engine_waits = engine_.waiting();
  state_.engine_started = engine_.started();
  state_.stepped_ns = now;
  if (worked) state_.worked_ns = now;
  return worked;
}

// Helpers hold the lock only while they do what this round would do.
bool NicThread::run_round() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  missed_ = !lock.owns_lock();
  if (missed_) return false;
  const std::uint64_t last_ns = state_.stepped_ns;
  const bool worked = run_steps(options_.steps_per_lock, /*thorough=*/true);
  seen_ = state_;
  if (worked && slept_for_helpers_ && seen_.stepped_ns - last_ns > options_.neglected_us * kUs) {
    unhelped_until_ns_ = seen_.stepped_ns + options_.unhelped_us * kUs;
  }
  return worked;
}

bool NicThread::help() {
  // A hint: of several helpers one may go uncounted.
  helps_.store(helps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (waiting_.load(std::memory_order_relaxed) != 0) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock.owns_lock() && run_steps(1, /*thorough=*/false);
}

void NicThread::catch_up() {
  constexpr std::uint32_t kSteps = 64;
  locked([this] {
    if (!paused_) pages_.poll_all(engine_);
    run_steps(kSteps, /*thorough=*/false);
  });
}

// Somebody has helped since the last call.
bool NicThread::sleeps_for_helpers() {
  const std::uint32_t before = std::exchange(seen_helps_, helps_.load(std::memory_order_relaxed));
  return seen_helps_ != before && seen_.stepped_ns >= unhelped_until_ns_;
}

// To a thread that has the lock or wants it, after so many times in a row. Where this one is
// scheduled before all others, to yield would give them nothing, and to wake often would take from
// them what they need to come to an end.
void NicThread::give_way(std::uint32_t times) {
  constexpr std::uint32_t kMostDoublings = 4;
  if (pace_.idle_yields != 0) {
    std::this_thread::yield();
  } else {
    sleep(std::chrono::microseconds(pace_.least_sleep_us << std::min(times, kMostDoublings)));
  }
}

void NicThread::rest(std::uint32_t idle_rounds) {
  slept_for_helpers_ = false;
  // Whether there is anything to do is not known.
  if (missed_) {
    give_way();
    return;
  }
  // NICs that sleep until then leave the cores to the inits of many PEs.
  if (!seen_.engine_started && !seen_.engine_waits) {
    sleep(std::chrono::microseconds(options_.sleep_before_start_us));
    return;
  }
  const bool helped = sleeps_for_helpers();
  if (!helped && idle_rounds <= pace_.idle_spins) return;
  if (!helped && idle_rounds <= pace_.idle_spins + pace_.idle_yields) {
    std::this_thread::yield();
    return;
  }
  const std::uint64_t busy_ns = std::max(seen_.worked_ns, woken_ns_);
  const std::uint64_t idle_ns = seen_.engine_waits ? 0 : steady_ns() - busy_ns;
  slept_for_helpers_ = helped;
  sleep(std::max(least_sleep(helped), idle_sleep(std::chrono::nanoseconds(idle_ns))));
}

// What DMA or a peer will soon let go on is not to wait for a long sleep, but where the thread is
// scheduled before all others.
std::chrono::nanoseconds NicThread::least_sleep(bool helped) const {
  if (helped) return std::chrono::microseconds(options_.sleep_helped_us);
  if (seen_.engine_waits && pace_.idle_yields != 0) return {};
  return std::chrono::microseconds(pace_.least_sleep_us);
}

void NicThread::run() {
  std::uint32_t idle_rounds = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    // A mutex is not fair: without this a busy thread would take it again before a waiting call
    // wakes.
    for (std::uint32_t times = 0; waiting_.load(std::memory_order_relaxed) != 0; ++times) {
      give_way(times);
    }
    idle_rounds = run_round() ? 0 : idle_rounds + 1;
    rest(idle_rounds);
    if (options_.watch != nullptr) options_.watch->look(seen_.stepped_ns);
  }
}

}  // namespace gdakit::softnic
