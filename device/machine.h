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
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "core/base/annotate.h"
#include "core/format/wqe.h"

namespace gdakit {

// What an access or a fence orders. An access that is none of the last three is relaxed: it is
// atomic and orders nothing.
enum class Kind : std::uint8_t { relaxed, acquire, release, acq_rel };

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

// Identity of the thread that owns a Machine.
template <class M>
concept HasIdentity = requires(const M& m) {
  { m.thread_index() } -> std::same_as<std::uint32_t>;  // in its block
  { m.block_index() } -> std::same_as<std::uint32_t>;
  { m.block_threads() } -> std::same_as<std::uint32_t>;
  { m.grid_blocks() } -> std::same_as<std::uint32_t>;
  { m.lane() } -> std::same_as<std::uint32_t>;  // thread_index % 32
  { m.warp() } -> std::same_as<std::uint32_t>;  // thread_index / 32
};

// Strong accesses of 1, 2, 4 or 8 bytes (read-modify-writes: 4 or 8), naturally aligned, and
// fences. Order is a type with `kind` and `scope`.
template <class M, class Order>
concept HasStrongMemory = requires(M& m, Order order, std::uint64_t* word, std::uint64_t value) {
  { m.load(order, word) } -> std::same_as<std::uint64_t>;
  {m.store(order, word, value)};
  { m.fetch_add(order, word, value) } -> std::same_as<std::uint64_t>;
  { m.fetch_or(order, word, value) } -> std::same_as<std::uint64_t>;
  { m.fetch_and(order, word, value) } -> std::same_as<std::uint64_t>;
  { m.fetch_xor(order, word, value) } -> std::same_as<std::uint64_t>;
  { m.fetch_max(order, word, value) } -> std::same_as<std::uint64_t>;
  { m.exchange(order, word, value) } -> std::same_as<std::uint64_t>;
  // Returns the old value; the exchange took place if that equals `value` (the expected one).
  { m.compare_exchange(order, word, value, value) } -> std::same_as<std::uint64_t>;
  {m.fence(order)};
};

// Plain accesses: WQE bodies, payload, and the one store that goes to a device.
template <class M>
concept HasPlainMemory = requires(M& m, format::Segment* slot, const format::Segment& segment,
                                  std::uint64_t* word, void* to, const void* from) {
  {m.store_weak(slot, segment)};          // 16 bytes, no order, no atomicity
  {m.store_weak(word, std::uint64_t{})};  // 1, 2, 4 or 8 bytes, likewise
  { m.load_weak(word) } -> std::same_as<std::uint64_t>;
  {m.store_mmio(word, std::uint64_t{})};  // never merged or repeated
  {m.copy(to, from, std::size_t{})};      // bytes, by this thread alone
  // The same from memory that others write meanwhile: never what a cache still holds.
  {m.copy_in(to, from, std::size_t{})};
};

// Warp and block operations. `mask` names the lanes that take part: each of them calls, with the
// same mask, and is one of them. Shuffles, ballots and matches order no memory; the barriers do.
template <class M>
concept HasGroups = requires(M& m, LaneMask mask, std::uint64_t value, std::uint32_t lane) {
  // The lanes that are at this call together with this one: always at least the caller. A hint, as
  // __activemask() is: lanes may be missing from it that will come here later.
  { m.active_mask() } -> std::same_as<LaneMask>;
  { m.shuffle(mask, value, lane) } -> std::same_as<std::uint64_t>;  // `lane`'s value
  { m.ballot(mask, true) } -> std::same_as<LaneMask>;               // lanes whose predicate holds
  { m.match_any(mask, value) } -> std::same_as<LaneMask>;           // lanes with the caller's value
  {m.sync_warp(mask)};
  {m.sync_block()};
  // Thread 0's value, for every thread of the block; a barrier of the block like sync_block.
  { m.broadcast_block(value) } -> std::same_as<std::uint64_t>;
  // Whether the predicate holds for any thread of the block; likewise a barrier.
  { m.any_block(true) } -> std::same_as<bool>;
};

// Time and waiting. Every wait loop calls spin once a turn.
template <class M>
concept HasTime = requires(M& m, Site site) {
  { m.clock_ns() } -> std::same_as<std::uint64_t>;  // of this processor, monotonic
  {m.spin(site)};
};

template <class M, class Order>
concept MachineFor =
    HasIdentity<M> && HasStrongMemory<M, Order> && HasPlainMemory<M> && HasGroups<M> && HasTime<M>;

}  // namespace gdakit
