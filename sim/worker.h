// Worker: one OS thread that runs the threads of its blocks in turn, natively.
//
//   queue_:  t7 -> t8 -> t12 -> ...     ready threads; the first runs until it yields
//
// spin and gather put a thread at the queue's end; blocked takes it out until another thread of its
// block wakes it. A turn is over when every thread that was ready at its beginning has run once. A
// thread gets its fiber when it first runs and loses it when it ends, so threads that never wait
// share one stack.
//
// When all living threads of a block are blocked, nobody can wake them: the program ends with a
// report.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress_engine.h"
#include "core/base/result.h"
#include "device/machine.h"
#include "sim/block.h"
#include "sim/fiber.h"
#include "sim/idle.h"
#include "sim/scheduler.h"
#include "sim/stack_pool.h"
#include "sim/thread.h"

namespace gdakit::sim {

// A kernel with its type forgotten: enter(kernel, thread) runs it as `thread`.
struct ThreadMain {
  const void* kernel;
  void (*enter)(const void* kernel, Thread& thread);
};

// What the workers of one launch share: the first failure, which ends them all.
class LaunchState {
 public:
  void fail(Error error);
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  // After all workers have ended.
  const std::optional<Error>& error() const { return error_; }

 private:
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;
};

// Who is told of blocks: when the first thread of one begins, and when the last one ends. From the
// OS thread that runs the block; blocks of several come at the same time.
class BlockObserver {
 public:
  virtual ~BlockObserver() = default;
  virtual void block_begins(std::uint32_t block) = 0;
  virtual void block_ends(std::uint32_t block) = 0;
};

struct EmulatorOptions;

class Worker final : public Scheduler {
 public:
  Worker(LaunchState& state, ThreadMain main, const EmulatorOptions& options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void add_block(LaunchShape shape, std::uint32_t block_index);

  // Runs until every thread has ended or the launch has failed.
  void run();

  void yield(Thread& thread, Reason reason) override;
  void wake(Thread& thread) override;

 private:
  void report(const std::string& what) override;

  struct Resident;
  struct Task : Thread {
    const ThreadMain* main = nullptr;
    Resident* resident = nullptr;
    Task* next = nullptr;
    std::optional<Fiber> fiber;
  };
  struct Resident {
    std::vector<Task> tasks;
    std::optional<Block> block;
    std::size_t live;    // threads that have not ended
    std::size_t ready;   // of them, those not blocked
    bool begun = false;  // a thread of it has
  };

  void push(Task& task);
  Task& pop();
  bool start(Task& task);
  void end_task(Task& task);
  void drop_fiber(Task& task);
  void end_turn();
  bool makes_progress();
  void cancel_all();
  void check_deadlock(const Resident& resident);

  LaunchState& state_;
  ThreadMain main_;
  std::int32_t pe_;
  const WaitClock* clock_;
  ProgressEngine* progress_;
  BlockObserver* observer_;
  StackPool stacks_;
  std::deque<Resident> residents_;
  std::size_t live_ = 0;

  Task* first_ = nullptr;
  Task* last_ = nullptr;
  std::size_t queued_ = 0;

  IdleBackoff idle_;
  std::size_t turn_length_ = 0;
  std::size_t turn_left_ = 0;
  std::size_t turn_spins_ = 0;
  bool turn_worked_ = false;
};

}  // namespace gdakit::sim
