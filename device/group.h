// Who performs an operation together: one thread, the lanes of a warp, or the threads of a block.
// All threads of the group call, with the same arguments.
#pragma once

#include <utility>

#include "device/poster.h"

namespace gdakit {

struct ThreadGroup {};
struct WarpGroup {};
struct BlockGroup {};

// A thread's share of what its group has to do: of every `step` things the one at `first`.
struct Share {
  std::uint32_t first;
  std::uint32_t step;
};

template <class M>
GDAKIT_DEVICE Share share_of(const M&, ThreadGroup) {
  return {0, 1};
}
template <class M>
GDAKIT_DEVICE Share share_of(const M& m, WarpGroup) {
  return {m.lane(), lane_count(whole_warp(m))};
}
template <class M>
GDAKIT_DEVICE Share share_of(const M& m, BlockGroup) {
  return {m.thread_index(), m.block_threads()};
}

// The threads of the group meet: what each did before is seen by all after.
template <class M>
GDAKIT_DEVICE void meet(M&, ThreadGroup) {}
template <class M>
GDAKIT_DEVICE void meet(M& m, WarpGroup) {
  m.sync_warp(whole_warp(m));
}
template <class M>
GDAKIT_DEVICE void meet(M& m, BlockGroup) {
  m.sync_block();
}

// The threads of the group meet, and all get to know whether the predicate holds for any of them.
template <class M>
GDAKIT_DEVICE bool meet_any(M&, ThreadGroup, bool predicate) {
  return predicate;
}
template <class M>
GDAKIT_DEVICE bool meet_any(M& m, WarpGroup, bool predicate) {
  const bool any = m.ballot(whole_warp(m), predicate) != 0;
  meet(m, WarpGroup{});  // a ballot orders nothing
  return any;
}
template <class M>
GDAKIT_DEVICE bool meet_any(M& m, BlockGroup, bool predicate) {
  return m.any_block(predicate);
}

// The first thread's value, for all threads of the group. They then agree on what to do next:
// threads that judged for themselves could part before a barrier.
template <class M>
GDAKIT_DEVICE std::uint64_t agree(M&, ThreadGroup, std::uint64_t value) {
  return value;
}
template <class M>
GDAKIT_DEVICE std::uint64_t agree(M& m, WarpGroup, std::uint64_t value) {
  const LaneMask warp = whole_warp(m);
  return lane_count(warp) == 1 ? value : m.shuffle(warp, value, 0);
}
template <class M>
GDAKIT_DEVICE std::uint64_t agree(M& m, BlockGroup, std::uint64_t value) {
  return m.broadcast_block(value);
}

template <class M, class Group>
GDAKIT_DEVICE Status agree_on(M& m, Group group, Status status) {
  return bit_cast<Status>(agree(m, group, bit_cast<std::uint64_t>(status)));
}

template <class M, class Group>
GDAKIT_DEVICE Ticket agree_on(M& m, Group group, Ticket ticket) {
  const auto peer = static_cast<std::uint32_t>(ticket.peer);
  const std::uint64_t target = agree(m, group, std::uint64_t{ticket.queue} << 32 | peer);
  ticket.queue = static_cast<std::uint32_t>(target >> 32);
  ticket.peer = static_cast<std::int32_t>(static_cast<std::uint32_t>(target));
  ticket.index = agree(m, group, ticket.index);
  ticket.status = agree_on(m, group, ticket.status);
  return ticket;
}

// Has the first thread of the group act, after what any thread of the group did before and before
// what any does after. All get what it returned.
template <class M, class Act>
GDAKIT_DEVICE Ticket by_one(M&, ThreadGroup, Act&& act) {
  return act();
}
template <class M, class Act>
GDAKIT_DEVICE Ticket by_one(M& m, WarpGroup, Act&& act) {
  meet(m, WarpGroup{});
  Ticket ticket{};
  if (m.lane() == 0) ticket = act();
  ticket = agree_on(m, WarpGroup{}, ticket);
  meet(m, WarpGroup{});  // a shuffle orders nothing
  return ticket;
}
template <class M, class Act>
GDAKIT_DEVICE Ticket by_one(M& m, BlockGroup, Act&& act) {
  meet(m, BlockGroup{});
  Ticket ticket{};
  if (m.thread_index() == 0) ticket = act();
  return agree_on(m, BlockGroup{}, ticket);
}

}  // namespace gdakit
