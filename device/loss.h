// Peers that are gone: how a wait for what they would have done ends.
//
// The host tells which PEs are lost (core/host/lost_pes.h), in memory of its own, and each wait
// loop looks there now and then (Watchdog). What ends depends on what is waited for: a message of
// one peer, when that one is lost; a collective, when a member of the team is; a word of the heap,
// which any PE may write, or a lock, which any PE may hold, by any loss that the program has not
// acknowledged. Waits for a queue do not look: the NIC breaks a queue whose peer does not answer.
#pragma once

#include "device/order.h"
#include "device/status.h"
#include "device/views.h"

namespace gdakit {

// A word that the host writes.
template <class M>
GDAKIT_DEVICE std::uint64_t told(M& m, const std::uint64_t* word) {
  return m.load(order::RelaxedSystem{}, word);
}

// Whether the host has told that this PE is lost, where any is. The address is written once, before
// any kernel runs.
template <class M>
GDAKIT_DEVICE bool is_among_lost(M& m, const PeState* state, std::int32_t pe) {
  return told(m, reinterpret_cast<const std::uint64_t*>(m.load_weak(&state->lost)) + pe) != 0;
}

// Whether a PE is known to be lost.
template <class M>
GDAKIT_DEVICE bool is_lost(M& m, const PeState* state, std::int32_t pe) {
  return told(m, &state->losses) != 0 && is_among_lost(m, state, pe);
}

// A PE that is lost, or -1. A loss that the program has not acknowledged comes first.
template <class M>
GDAKIT_DEVICE std::int32_t any_lost(M& m, const DeviceContext& context) {
  if (told(m, &context.state->losses) == 0) return -1;
  const auto first = static_cast<std::int32_t>(told(m, &context.state->new_loss)) - 1;
  if (first >= 0) return first;
  for (std::int32_t pe = 0; pe < context.n_pes; ++pe) {
    if (is_among_lost(m, context.state, pe)) return pe;
  }
  return -1;
}

// The loss of nobody ends the wait.
struct WaitsForNobody {
  static constexpr bool kLooks = false;
};

// Any loss does that is new to the program.
struct WaitsForAnybody {
  static constexpr bool kLooks = true;
  template <class M>
  GDAKIT_DEVICE std::int32_t lost(M& m, const PeState* state) const {
    return static_cast<std::int32_t>(told(m, &state->new_loss)) - 1;
  }
};

// The loss of the one PE does, where the range has but one; else any that is new to the program.
struct WaitsForSender {
  static constexpr bool kLooks = true;
  std::int32_t begin;
  std::int32_t end;
  template <class M>
  GDAKIT_DEVICE std::int32_t lost(M& m, const PeState* state) const {
    if (end != begin + 1) return WaitsForAnybody{}.lost(m, state);
    return is_lost(m, state, begin) ? begin : -1;
  }
};

// The loss of any member does: the others wait for each other. That which is new to the program is
// named first, because others may be gone for its sake.
struct WaitsForTeam {
  static constexpr bool kLooks = true;
  const TeamView& team;
  template <class M>
  GDAKIT_DEVICE std::int32_t lost(M& m, const PeState* state) const {
    if (told(m, &state->losses) == 0) return -1;
    const std::int32_t first = WaitsForAnybody{}.lost(m, state);
    if (first >= 0 && team.numbers[first] >= 0) return first;
    for (std::int32_t i = 0; i < team.n_pes; ++i) {
      const std::int32_t pe = team.members[i];
      if (is_among_lost(m, state, pe)) return pe;
    }
    return -1;
  }
};

// What such a wait returns.
GDAKIT_DEVICE constexpr Status lost_status(std::int32_t pe) {
  return {StatusCode::peer_lost, format::Syndrome::none, pe};
}

}  // namespace gdakit
