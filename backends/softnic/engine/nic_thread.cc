#include "backends/softnic/engine/nic_thread.h"

#include <chrono>

#include "core/base/idle_sleep.h"
#include "core/base/library_thread.h"
#include "core/base/wait_clock.h"

namespace gdakit::softnic {
NicThread::NicThread(const NicThreadOptions& options, Engine& engine, UarPages& pages)
    : options_(options),
      engine_(engine),
      pages_(pages),
      idle_since_ns_(steady_ns()),
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
  idle_since_ns_ = steady_ns();
}

// A batch of steps under one lock, with one look at the clock.
bool NicThread::run_steps() {
  const std::lock_guard lock(mutex_);
  engine_waits_ = false;
  if (paused_) return false;
  const std::uint64_t now = steady_ns();
  bool worked = false;
  for (std::uint32_t i = 0; i < options_.steps_per_lock; ++i) {
    bool step_worked = pages_.poll(engine_, /*thorough=*/i == 0);
    step_worked |= engine_.step(now);
    worked |= step_worked;
    if (!step_worked) break;
  }
  engine_waits_ = engine_.waiting();
  engine_started_ = engine_.started();
  if (worked) idle_since_ns_ = now;
  return worked;
}

void NicThread::rest(std::uint32_t idle_rounds) {
  // NICs that sleep until then leave few cores to the inits of many PEs.
  if (!engine_started_ && !engine_waits_) {
    sleep(std::chrono::microseconds(options_.sleep_before_start_us));
    return;
  }
  if (idle_rounds <= options_.idle_spins) return;
  if (idle_rounds <= options_.idle_spins + options_.idle_yields) {
    std::this_thread::yield();
    return;
  }
  // What DMA or a peer will soon let go on is not to wait for a long sleep.
  const std::uint64_t idle_ns = engine_waits_ ? 0 : steady_ns() - idle_since_ns_;
  sleep(idle_sleep(std::chrono::nanoseconds(idle_ns)));
}

void NicThread::run() {
  std::uint32_t idle_rounds = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    // A mutex is not fair: without this a busy thread would take it again before a waiting call
    // wakes.
    while (waiting_.load(std::memory_order_relaxed) != 0) std::this_thread::yield();
    idle_rounds = run_steps() ? 0 : idle_rounds + 1;
    rest(idle_rounds);
  }
}

}  // namespace gdakit::softnic
