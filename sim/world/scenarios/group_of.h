// The handle by which a group of a kernel's threads acts as one.
#pragma once

#include <type_traits>

#include "sim/world/world.h"

namespace gdakit::sim::scenarios {

// That of the kernel's warp or block; of neither the thread's own.
template <class Group, class Pe>
auto group_of(Pe& pe) {
  if constexpr (std::is_same_v<Group, WarpGroup>) {
    return pe.warp();
  } else if constexpr (std::is_same_v<Group, BlockGroup>) {
    return pe.block();
  } else {
    return pe;
  }
}

}  // namespace gdakit::sim::scenarios
