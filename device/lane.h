// Small sums over lane masks.
#pragma once

#include "core/base/bits.h"
#include "device/machine.h"

namespace gdakit {

GDAKIT_HOST_DEVICE constexpr std::uint32_t lane_count(LaneMask mask) {
  return static_cast<std::uint32_t>(count_bits(mask));
}

// The lowest lane of a mask that is not empty.
GDAKIT_HOST_DEVICE constexpr std::uint32_t leader_of(LaneMask mask) {
  return static_cast<std::uint32_t>(lowest_bit(mask));
}

// How many lanes of the mask stand before `lane`.
GDAKIT_HOST_DEVICE constexpr std::uint32_t rank_in(LaneMask mask, std::uint32_t lane) {
  return lane_count(mask & ((LaneMask{1} << lane) - 1));
}

}  // namespace gdakit
