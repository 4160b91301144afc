// Who posts together.
#pragma once

#include "device/lane.h"

namespace gdakit {

// The lanes of one warp that post to one queue together: one reservation, each lane writes its own
// WQEs, the leader publishes.
struct Crew {
  LaneMask mask;
  std::uint32_t lane;

  GDAKIT_HOST_DEVICE std::uint32_t size() const { return lane_count(mask); }
  GDAKIT_HOST_DEVICE std::uint32_t rank() const { return rank_in(mask, lane); }
  GDAKIT_HOST_DEVICE std::uint32_t leader() const { return leader_of(mask); }
  GDAKIT_HOST_DEVICE bool leads() const { return lane == leader(); }
  GDAKIT_HOST_DEVICE bool is_last() const { return rank() + 1 == size(); }

  template <class M>
  GDAKIT_HOST_DEVICE static Crew of_one(const M& m) {
    return {LaneMask{1} << m.lane(), m.lane()};
  }
};

// The same for a thread of which it is known that it posts by itself.
struct LoneThread {
  static constexpr LaneMask mask = 0;

  GDAKIT_HOST_DEVICE static constexpr std::uint32_t size() { return 1; }
  GDAKIT_HOST_DEVICE static constexpr std::uint32_t rank() { return 0; }
  GDAKIT_HOST_DEVICE static constexpr std::uint32_t leader() { return 0; }
  GDAKIT_HOST_DEVICE static constexpr bool leads() { return true; }
  GDAKIT_HOST_DEVICE static constexpr bool is_last() { return true; }
};

}  // namespace gdakit
