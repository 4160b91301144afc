// Thread: one emulated GPU thread as the group operations and the machines see it.
#pragma once

#include <cstdint>

#include "device/machine.h"
#include "sim/stack_pool.h"

namespace gdakit {
class WaitClock;
}

namespace gdakit::sim {

class Block;
class Scheduler;
class Warp;

// A group operation in which a thread waits.
enum class Operation : std::uint8_t {
  none,
  shuffle,
  ballot,
  match_any,
  sync_warp,
  sync_block,
  active_mask,
};

// The operation's name as the Machine concept has it.
const char* operation_name(Operation operation);

struct Thread {
  // Identity.
  LaunchShape shape;
  std::uint32_t block_index = 0;
  std::uint32_t thread_index = 0;
  std::int32_t pe = -1;              // for reports; -1: it is of none
  const WaitClock* clock = nullptr;  // null: steady time
  Stack stack;                       // while it has one

  // Surroundings; set by Block::add.
  Scheduler* scheduler = nullptr;
  Block* block = nullptr;
  Warp* warp = nullptr;

  // Where the thread waits, for reports: `mask` is the operation's own.
  Operation waits_in = Operation::none;
  LaneMask waits_mask = 0;

  // Set by a machine when the thread wrote memory, cleared by the scheduler: a thread that only
  // polls leaves it false.
  bool worked = false;

  std::uint32_t lane() const { return thread_index % kWarpSize; }
  LaneMask lane_bit() const { return LaneMask{1} << lane(); }
  std::uint32_t warp_index() const { return thread_index / kWarpSize; }
};

// The emulated thread that runs on this OS thread now; null outside of kernels.
Thread* current_thread();
void set_current_thread(Thread* thread);

}  // namespace gdakit::sim
