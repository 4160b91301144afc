// Who performs the calls of a test's kernel: one thread, a warp, or a block.
#pragma once

#include "core/base/annotate.h"
#include "device/machine.h"

namespace gdakit::test {

enum class By { thread, warp, block };

template <By kGroup, class Pe>
GDAKIT_DEVICE auto group_of(Pe& pe) {
  if constexpr (kGroup == By::block) {
    return pe.block();
  } else if constexpr (kGroup == By::warp) {
    return pe.warp();
  } else {
    return pe;
  }
}

// Whether the calling thread is one of the first block's first thread, first warp, or of the block.
template <By kGroup, class Pe>
GDAKIT_DEVICE bool acts(Pe& pe) {
  if constexpr (kGroup == By::warp) return pe.machine().warp() == 0;
  return kGroup == By::block || pe.machine().thread_index() == 0;
}

// How many threads of a block of `threads` that is.
constexpr unsigned actors(By group, unsigned threads) {
  if (group == By::thread) return 1;
  return group == By::warp ? kWarpSize : threads;
}

constexpr const char* name_of(By by) {
  constexpr const char* kNames[] = {"a thread", "a warp", "a block"};
  return kNames[static_cast<int>(by)];
}

}  // namespace gdakit::test
