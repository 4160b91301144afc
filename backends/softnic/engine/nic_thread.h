// The host thread that runs an engine: doorbell pages, steps, and patience when there is nothing to
// do.
//
// Control-path calls of other threads run between two steps, under locked(). An idle thread spins,
// then yields, then sleeps for longer and longer (core/base/idle_sleep.h), so that many NICs and
// GPU threads share few cores.
//
// Threads that wait for the NIC run its steps themselves, by help(): where cores are few, a thread
// that only waits keeps the core from the one that it waits for. Meanwhile the NIC's own thread
// sleeps and looks now and then. If it finds work that nobody has cared for, because those who help
// do other things in between, it sleeps for them no more for a while.
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

// Told by the thread itself, between two rounds, that it goes on.
class ThreadWatch {
 public:
  // `now_ns` is the time of its last step, by steady_ns().
  virtual void look(std::uint64_t now_ns) = 0;

 protected:
  ~ThreadWatch() = default;
};

// What the thread does without work.
struct NicThreadPace {
  std::uint32_t idle_spins = 8;      // rounds before it yields
  std::uint32_t idle_yields = 256;   // ... before it sleeps; 0: it never yields
  std::uint32_t least_sleep_us = 0;  // of a sleep
};

struct NicThreadOptions {
  std::uint32_t steps_per_lock = 16;
  NicThreadPace pace;
  // While no queue pair has been connected; the first one wakes the thread.
  std::uint32_t sleep_before_start_us = 100'000;
  std::uint32_t sleep_helped_us = 50;  // while others run the steps
  std::uint32_t neglected_us = 20;     // without a step before work that is found ...
  std::uint32_t unhelped_us = 1000;    // ... and for how long it then trusts no helper
  ThreadWatch* watch = nullptr;        // outlives the thread
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

  // Runs a step on the calling thread, unless another thread is at it or wants to call. True if
  // anything changed.
  bool help();
  // Runs some steps on the calling thread, as long as they change anything: what its caller has
  // just posted is carried out before what it calls next.
  void catch_up();

  // Ends the thread's sleep: the caller is about to wait for its steps.
  void wake();

  // Returns when no step is under way; none begins before resume().
  void pause();
  void resume();

  // From now on; a thread that sleeps wakes up.
  void set_pace(const NicThreadPace& pace);

 private:
  // What the last steps have left.
  struct State {
    bool engine_waits = false;
    bool engine_started = false;
    std::uint64_t stepped_ns = 0;
    std::uint64_t worked_ns = 0;
  };

  void run();
  bool run_round();
  bool run_steps(std::uint32_t most, bool thorough);
  bool sleeps_for_helpers();
  void rest(std::uint32_t idle_rounds);
  void give_way(std::uint32_t times = 0);
  void sleep(std::chrono::nanoseconds duration);
  std::chrono::nanoseconds least_sleep(bool helped) const;

  const NicThreadOptions options_;
  Engine& engine_;
  UarPages& pages_;
  std::mutex mutex_;
  std::atomic<std::uint32_t> waiting_{0};  // control-path calls that want the lock
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint32_t> helps_{0};  // calls of help(), about
  bool paused_ = false;
  State state_;
  // The thread's own.
  NicThreadPace pace_;
  State seen_;                      // by its last round
  std::uint32_t seen_helps_ = 0;    // by its last rest
  std::uint64_t woken_ns_;          // by wake()
  bool slept_for_helpers_ = false;  // before this round
  bool missed_ = false;             // the lock, in this round
  std::uint64_t unhelped_until_ns_ = 0;
  std::mutex sleep_mutex_;
  std::condition_variable woken_;
  bool awake_ = false;  // by wake(), and not yet noticed
  NicThreadPace next_pace_;
  std::thread thread_;
};

}  // namespace gdakit::softnic
