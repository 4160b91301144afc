// Who performs an operation together: one thread, the lanes of a warp, or the threads of a block.
// All threads of the group call, with the same arguments.
#pragma once

#include <type_traits>
#include <utility>

#include "device/poster.h"

namespace gdakit {

struct ThreadGroup {};
struct WarpGroup {};
struct BlockGroup {};

template <class P>
using M_of = std::remove_reference_t<decltype(std::declval<P>().m)>;

// The bits of a value of at most 8 bytes, in the lowest bytes of a word.
template <class T>
GDAKIT_HOST_DEVICE constexpr std::uint64_t widen_bits(T value) {
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
  if constexpr (sizeof(T) == 8) {
    return bit_cast<std::uint64_t>(value);
  } else if constexpr (sizeof(T) == 4) {
    return bit_cast<std::uint32_t>(value);
  } else if constexpr (sizeof(T) == 2) {
    return bit_cast<std::uint16_t>(value);
  } else {
    return bit_cast<std::uint8_t>(value);
  }
}

// Lane 0's ticket, for every lane of the warp.
template <class M>
GDAKIT_DEVICE Ticket share_ticket(M& m, LaneMask warp, Ticket ticket) {
  if (lane_count(warp) == 1) return ticket;
  ticket.index = m.shuffle(warp, ticket.index, 0);
  ticket.status = bit_cast<Status>(m.shuffle(warp, bit_cast<std::uint64_t>(ticket.status), 0));
  return ticket;
}

// A ticket for all that was posted to `pe` on the poster's queue so far. Its status tells of a
// broken queue and of a stall anywhere on this PE.
template <class P>
GDAKIT_DEVICE Ticket newest_ticket(const P& poster, std::int32_t pe) {
  auto queue = poster.to(pe);
  Status status = queue_status(poster.m, queue.view());
  const StallReport& stall = poster.context.state->stall;
  if (status.ok() && poster.m.load(order::RelaxedSystem{}, &stall.state) != kReportNone) {
    status.code = StatusCode::stalled;
  }
  return {poster.queue, pe, queue.reserved(), status};
}

// Has the first warp of the block post by `act`, after what any thread of the block did before. The
// other warps' ticket stands at the newest post of the queue, which is this one or a later one.
template <class P, class Act>
GDAKIT_DEVICE Ticket by_first_warp(const P& poster, std::int32_t pe, Act&& act) {
  M_of<P>& m = poster.m;
  m.sync_block();
  Ticket ticket{};
  if (m.warp() == 0) ticket = act();
  m.sync_block();
  if (m.warp() != 0) ticket = newest_ticket(poster, pe);
  return ticket;
}

// Has one thread of the group post by `act`, after what any thread of the group did before.
template <class P, class Act>
GDAKIT_DEVICE Ticket by_one(const P&, ThreadGroup, std::int32_t, Act&& act) {
  return act();
}

template <class P, class Act>
GDAKIT_DEVICE Ticket by_one(const P& poster, WarpGroup, std::int32_t, Act&& act) {
  M_of<P>& m = poster.m;
  const LaneMask warp = whole_warp(m);
  m.sync_warp(warp);
  Ticket ticket{};
  if (m.lane() == 0) ticket = act();
  return share_ticket(m, warp, ticket);
}

template <class P, class Act>
GDAKIT_DEVICE Ticket by_one(const P& poster, BlockGroup, std::int32_t pe, Act&& act) {
  return by_first_warp(poster, pe, [&] { return by_one(poster, WarpGroup{}, pe, act); });
}

}  // namespace gdakit
