// Step 4: the source of a token adds up what its experts answered, each with its weight.
#pragma once

#include "examples/moe_dispatch/buffers.h"
#include "gdakit.h"

namespace moe {

struct Combine {
  Buffers buffers;
  std::uint32_t tokens;  // of this step

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (std::uint32_t t = m.block_index(); t < tokens; t += m.grid_blocks()) {
      for (std::uint32_t i = m.thread_index(); i < buffers.shape.hidden; i += m.block_threads()) {
        buffers.output_values(t)[i] = weighted_sum(t, i);
      }
    }
  }

 private:
  GDAKIT_DEVICE float weighted_sum(std::uint32_t t, std::uint32_t i) const {
    float sum = 0;
    for (std::uint32_t j = 0; j < buffers.shape.top_k; ++j) {
      sum += weight(j) * buffers.combined_values(t, j)[i];
    }
    return sum;
  }
};

}  // namespace moe
