// The messages that a PE received, shared out among blocks and warps.
//
// A block takes pairs of local expert and source PE; its warps take the messages of a pair.
#pragma once

#include <cstdint>

#include "examples/moe_dispatch/buffers.h"
#include "examples/moe_dispatch/warp.h"

namespace moe {

// Calls act(local expert, source) in all threads of a block, for each pair of this block.
template <class M, class Act>
GDAKIT_DEVICE void for_each_pair(M& m, const Buffers& buffers, Act act) {
  const std::uint32_t pes = buffers.shape.pes;
  const std::uint32_t pairs = buffers.shape.experts_per_pe() * pes;
  for (std::uint32_t pair = m.block_index(); pair < pairs; pair += m.grid_blocks()) {
    act(pair / pes, static_cast<int>(pair % pes));
  }
}

// Calls act(slot) in all lanes of a warp, for each message of the pair that is this warp's. The
// messages have arrived: a count of 0 is one that a stalled dispatch never got.
template <class M, class Act>
GDAKIT_DEVICE void for_each_slot(M& m, const Buffers& buffers, std::uint32_t local, int source,
                                 Act act) {
  const std::uint64_t count =
      m.load(gdakit::order::RelaxedSystem{}, buffers.count_word(local, source));
  const std::uint64_t messages = count == 0 ? 0 : count - 1;
  for (std::uint64_t slot = m.warp(); slot < messages; slot += warps_of(m)) act(slot);
}

}  // namespace moe
