// What warps and blocks need beyond the Machine.
#pragma once

#include <cstdint>

#include "core/base/annotate.h"
#include "device/machine.h"
#include "device/order.h"

namespace moe {

// Blocks consist of whole warps here.
template <class M>
GDAKIT_DEVICE std::uint32_t warps_of(const M& m) {
  return m.block_threads() / gdakit::kWarpSize;
}

// Lane 0 calls `act`; every lane gets its result and sees the memory that lane 0 saw.
template <class M, class Act>
GDAKIT_DEVICE std::uint64_t from_lane_0(M& m, Act act) {
  std::uint64_t value = 0;
  if (m.lane() == 0) value = act();
  value = m.shuffle(gdakit::kFullWarp, value, 0);
  m.sync_warp(gdakit::kFullWarp);  // a shuffle hands over a value, but orders no memory
  return value;
}

// For one warp of each block of a grid: whether its block is the last one to come here. What the
// others did before they came then happened before what this warp does next: acquire and release.
template <class M>
GDAKIT_DEVICE bool is_last_block(M& m, std::uint64_t* blocks_done) {
  const std::uint64_t before = from_lane_0(
      m, [&] { return m.fetch_add(gdakit::order::AcqRel<gdakit::Scope::gpu>{}, blocks_done, 1); });
  return before + 1 == m.grid_blocks();
}

}  // namespace moe
