// The operations of a Machine, as a concept that each Machine is held to where it is built and
// tested. A header of its own, so that programs may be compiled as C++17.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "core/format/wqe.h"
#include "device/machine.h"

namespace gdakit {

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
