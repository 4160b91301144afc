// Machine: what the protocol needs of a processor. The protocol is a template over it.
//
//   HostMachine (sim/)               emulated GPU threads on CPU cores, real atomics
//   CudaMachine (device/*.cuh)       the GPU
//   SimMachine (sim/)                the same threads under a weak-memory model
//
// One Machine object belongs to one GPU thread; the protocol passes it by reference. Memory
// operations name their ordering by a type of device/order.h, whose `kind` and `scope` say how
// strong they are:
//
//   m.store(order::WqeBeforeDoorbellRecord{}, &record, value);
//
// device/machine_concept.h lists the operations.
#pragma once

#include <cstdint>

namespace gdakit {

// What an access or a fence orders. A relaxed access is atomic and orders nothing. Fences alone may
// be sc: acq_rel, and all of them in one order, so that of two threads that each store, fence and
// then load what the other one stores, one sees it.
enum class Kind : std::uint8_t { relaxed, acquire, release, acq_rel, sc };

// Who must see the order.
enum class Scope : std::uint8_t {
  block,   // threads of this block
  gpu,     // threads of this GPU
  system,  // every thread of the program, other GPUs' and the host's included
  nic,     // the NIC: gpu where queues and registered memory all lie in GPU memory, else system
};

// Lanes of one warp, bit i for lane i.
using LaneMask = std::uint32_t;
inline constexpr LaneMask kFullWarp = 0xffffffffu;
inline constexpr std::uint32_t kWarpSize = 32;

// Where a thread waits; named in stall reports.
enum class Site : std::uint8_t {
  queue_room,        // for a free slot of a send queue
  queue_completion,  // for a completion index of a send queue
  fetch_slot,        // for a free slot of the fetch ring
  signal,            // for a word of the symmetric heap (wait_until)
  team,              // for another member of a team, in a collective
  lock,              // for a lock that another thread or PE has
  message,           // for a message on a channel
  user,              // a loop of the user's own
  count,
};

// The shape of a launch. Blocks and threads have one dimension.
struct LaunchShape {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 32;  // of a block; at most 1024, which takes Kernel::max_threads on GPUs
  // All blocks run at the same time, or the launch fails: for blocks that wait for each other. On
  // the emulator that is always so.
  bool cooperative = false;
};

}  // namespace gdakit
