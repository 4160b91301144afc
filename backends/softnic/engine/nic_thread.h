// The host thread that runs an engine: doorbell pages, steps, and patience when there is nothing to
// do.
//
// Control-path calls of other threads run between two steps, under locked(). An idle thread spins,
// then yields, then sleeps for longer and longer (core/base/idle_sleep.h), so that many NICs and
// GPU threads share few cores.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "backends/softnic/engine/engine.h"
#include "backends/softnic/engine/uar.h"

namespace gdakit::softnic {

struct NicThreadOptions {
  std::uint32_t steps_per_lock = 16;
  std::uint32_t idle_spins = 64;               // rounds without work before the thread yields
  std::uint32_t idle_yields = 256;             // ... before it sleeps
  std::uint32_t sleep_before_start_us = 2000;  // while no queue pair has been connected
};

class NicThread {
 public:
  // Engine and pages outlive the thread.
  NicThread(const NicThreadOptions& options, Engine& engine, UarPages& pages);
  NicThread(const NicThread&) = delete;
  NicThread& operator=(const NicThread&) = delete;
  ~NicThread();

  // Runs `call` between two steps and returns its result.
  template <class Call>
  auto locked(Call&& call) {
    waiting_.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    return std::forward<Call>(call)();
  }

  // Ends the thread's sleep: the caller is about to wait for its steps.
  void wake();

  // Returns when no step is under way; none begins before resume().
  void pause();
  void resume();

 private:
  void run();
  bool run_steps();
  void rest(std::uint32_t idle_rounds);
  void sleep(std::chrono::nanoseconds duration);

  const NicThreadOptions options_;
  Engine& engine_;
  UarPages& pages_;
  std::mutex mutex_;
  std::atomic<std::uint32_t> waiting_{0};  // control-path calls that want the lock
  std::atomic<bool> stopping_{false};
  bool paused_ = false;
  // As of the last step; the thread's own.
  bool engine_waits_ = false;
  bool engine_started_ = false;
  std::uint64_t idle_since_ns_;
  std::mutex sleep_mutex_;
  std::condition_variable woken_;
  bool awake_ = false;  // by wake(), and not yet noticed
  std::thread thread_;
};

}  // namespace gdakit::softnic
