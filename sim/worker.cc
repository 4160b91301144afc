#include "sim/worker.h"

#include <cfenv>
#include <cstdio>
#include <exception>
#include <thread>
#include <utility>

#include "core/base/assert.h"
#include "sim/crash.h"
#include "sim/emulator.h"

namespace gdakit::sim {
namespace {

std::string thread_name(const Thread& thread) {
  return "block " + std::to_string(thread.block_index) + " thread " +
         std::to_string(thread.thread_index);
}

Error thrown_error(const Thread& thread, std::exception_ptr exception) {
  std::string what = "something that is no std::exception";
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  return Error(Code::aborted, "launch: the kernel threw in " + thread_name(thread) + ": " + what);
}

// So many resumes take about as long as a look that finds nothing to do.
constexpr std::size_t kResumesOfProgress = 7;

// A switch of contexts loads the floating-point status word, which costs about 60 ns if its sticky
// exception flags differ from those of the context that ran before. With all flags up from the
// start, no arithmetic changes them. GPU code has no such flags to read; the OS thread gets its own
// back.
class RaisedFloatFlags {
 public:
  RaisedFloatFlags() {
    std::fegetenv(&saved_);
    std::feraiseexcept(FE_ALL_EXCEPT);
    // The C library raises some flags in one of the processor's two status words only; setting
    // what it reads back reaches both.
    std::fexcept_t raised;
    std::fegetexceptflag(&raised, FE_ALL_EXCEPT);
    std::fesetexceptflag(&raised, FE_ALL_EXCEPT);
  }
  ~RaisedFloatFlags() { std::fesetenv(&saved_); }
  RaisedFloatFlags(const RaisedFloatFlags&) = delete;
  RaisedFloatFlags& operator=(const RaisedFloatFlags&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace

void LaunchState::fail(Error error) {
  const std::lock_guard lock(mutex_);
  if (!error_.has_value()) error_ = std::move(error);
  failed_.store(true, std::memory_order_relaxed);
}

Worker::Worker(LaunchState& state, ThreadMain main, const EmulatorOptions& options)
    : state_(state),
      main_(main),
      pe_(options.pe),
      clock_(options.clock),
      progress_(options.progress),
      observer_(options.observer),
      stacks_(options.stacks) {}

Worker::~Worker() = default;

void Worker::add_block(LaunchShape shape, std::uint32_t block_index) {
  Resident& resident = residents_.emplace_back();
  resident.tasks = std::vector<Task>(shape.threads);
  resident.live = resident.ready = shape.threads;
  live_ += shape.threads;
  std::vector<Thread*> threads;
  threads.reserve(shape.threads);
  for (Task& task : resident.tasks) {
    task.shape = shape;
    task.block_index = block_index;
    task.thread_index = static_cast<std::uint32_t>(threads.size());
    task.pe = pe_;
    task.clock = clock_;
    task.main = &main_;
    task.resident = &resident;
    threads.push_back(&task);
    push(task);
  }
  resident.block.emplace(*this, std::move(threads));
}

void Worker::run() {
  const RaisedFloatFlags flags;
  const CrashWatch watch;
  while (live_ != 0) {
    if (turn_left_ == 0) end_turn();
    if (state_.failed()) return cancel_all();
    Task& task = pop();
    --turn_left_;
    if (!task.fiber.has_value() && !start(task)) continue;
    set_current_thread(&task);
    task.fiber->resume();
    set_current_thread(nullptr);
    turn_worked_ |= std::exchange(task.worked, false);
    if (task.fiber->ended()) end_task(task);
    if (task.resident->ready == 0) check_deadlock(*task.resident);
  }
}

bool Worker::start(Task& task) {
  const Result<Stack> stack = stacks_.take();
  if (!stack) {
    state_.fail(stack.error().within("launch: " + thread_name(task)));
    return false;
  }
  task.stack = *stack;
  task.worked = true;
  const auto body = [](void* argument) {
    auto& self = *static_cast<Task*>(argument);
    self.main->enter(self.main->kernel, self);
  };
  task.fiber.emplace(task.stack, body, &task);
  const bool is_first = !std::exchange(task.resident->begun, true);
  if (is_first && observer_ != nullptr) observer_->block_begins(task.block_index);
  return true;
}

void Worker::end_task(Task& task) {
  turn_worked_ = true;
  const std::exception_ptr exception = task.fiber->exception();
  drop_fiber(task);
  --live_;
  --task.resident->live;
  --task.resident->ready;
  const bool is_last = task.resident->live == 0;
  if (is_last && observer_ != nullptr) observer_->block_ends(task.block_index);
  // A thread that threw has not left the kernel in an orderly way: others may wait for it.
  if (exception != nullptr) return state_.fail(thrown_error(task, exception));
  task.block->exit(task);
}

void Worker::drop_fiber(Task& task) {
  task.fiber.reset();
  stacks_.give(task.stack);
}

void Worker::yield(Thread& thread, Reason reason) {
  Task& task = static_cast<Task&>(thread);
  if (reason == Reason::blocked) {
    --task.resident->ready;
  } else {
    if (reason == Reason::spin) ++turn_spins_;
    push(task);
  }
  task.fiber->suspend();
}

void Worker::wake(Thread& thread) {
  Task& task = static_cast<Task&>(thread);
  ++task.resident->ready;
  push(task);
}

void Worker::report(const std::string& what) {
  std::fprintf(stderr, "gdakit emulator: %s\n", what.c_str());
}

void Worker::check_deadlock(const Resident& resident) {
  if (resident.live == 0 || state_.failed()) return;
  fail("deadlock in block " + std::to_string(resident.tasks.front().block_index) +
       ": every thread that has not ended waits for another" + resident.block->describe());
}

bool Worker::makes_progress() { return progress_ != nullptr && progress_->progress(); }

// Threads that only wait do what they wait for, or leave the core to others. Where some of them
// also wrote memory (a lock taken by exchange, a retry that posts) no sleep is due, but the core is
// still offered.
void Worker::end_turn() {
  const bool only_spins = turn_length_ != 0 && turn_spins_ >= turn_length_;
  if (turn_worked_) {
    idle_.reset();
    if (only_spins && !makes_progress()) std::this_thread::yield();
  } else if (turn_spins_ != 0) {
    if (makes_progress()) {
      idle_.reset();
    } else {
      idle_.idle_turn(progress_ == nullptr ? turn_length_ : turn_length_ + kResumesOfProgress);
    }
  }
  turn_length_ = turn_left_ = queued_;
  turn_spins_ = 0;
  turn_worked_ = false;
}

void Worker::cancel_all() {
  for (Resident& resident : residents_) {
    for (Task& task : resident.tasks) {
      if (!task.fiber.has_value()) continue;
      drop_fiber(task);
    }
  }
  live_ = 0;
}

void Worker::push(Task& task) {
  task.next = nullptr;
  (first_ == nullptr ? first_ : last_->next) = &task;
  last_ = &task;
  ++queued_;
}

Worker::Task& Worker::pop() {
  GDAKIT_ASSERT(first_ != nullptr);
  Task& task = *first_;
  first_ = task.next;
  --queued_;
  return task;
}

}  // namespace gdakit::sim
