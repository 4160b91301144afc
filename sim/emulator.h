// The SIMT emulator: runs a kernel's threads as fibers on CPU cores, with real atomics.
//
//   Result<void> done = sim::launch({.blocks = 2, .threads = 64}, {.workers = 2},
//                                   [&](sim::HostMachine& m) { m.fetch_add(order, &sum, 1); });
//
// All blocks are resident at once, so blocks may wait for one another by spinning. Threads of a
// warp are scheduled independently: a thread runs until it spins, meets a warp or block operation,
// or ends. Blocks are dealt over `workers` OS threads; a block's threads stay on one.
#pragma once

#include <cstdint>

#include "core/base/progress_engine.h"
#include "core/base/result.h"
#include "device/machine.h"
#include "sim/host_machine.h"
#include "sim/stack_pool.h"
#include "sim/worker.h"

namespace gdakit::sim {

inline constexpr std::uint32_t kMaxBlockThreads = 1024;

struct EmulatorOptions {
  std::uint32_t workers = 1;  // OS threads, the caller's included; no more than blocks are used
  StackOptions stacks = {};
  std::int32_t pe = -1;                // that runs the kernel, for reports
  const WaitClock* clock = nullptr;    // that the threads' clock_ns shows; null: steady time
  ProgressEngine* progress = nullptr;  // what workers do whose threads all wait; null: nothing
  BlockObserver* observer = nullptr;   // null: nobody
};

// launch() without the kernel's type.
Result<void> run_grid(LaunchShape shape, const EmulatorOptions& options, ThreadMain main);

// Runs kernel(HostMachine&) once for each thread of the grid and returns when all have ended.
//
// Errors: a shape or options out of range (invalid_argument); no room for stacks or OS threads
// (exhausted); the kernel threw (aborted: names the first thread that did; the others are unwound
// where they wait, as by an exception). A deadlock among group operations and a misuse of them end
// the program with a report on stderr, which names block, warp, lanes and operation; a thread that
// touches what is no memory of its, with one that names it (sim/crash.h).
//
// The kernel is shared by all threads, hence const. It must not spin or join a group operation
// inside a catch handler. Calls may run at the same time, from different OS threads.
template <class Kernel>
Result<void> launch(LaunchShape shape, const EmulatorOptions& options, const Kernel& kernel) {
  return run_grid(shape, options, {&kernel, [](const void* erased, Thread& thread) {
                                     HostMachine machine(thread);
                                     (*static_cast<const Kernel*>(erased))(machine);
                                   }});
}

}  // namespace gdakit::sim
