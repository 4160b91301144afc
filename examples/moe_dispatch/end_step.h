// Step 5: makes the buffers ready for the next batch, and meets the other PEs. By one block.
//
// barrier_all completes this PE's puts before it tells the others, so their sources, the messages,
// may be filled anew. And nobody sends the next batch before all have come here: a faster PE could
// overwrite messages that are still being worked on, or its count be lost to the reset.
#pragma once

#include "examples/moe_dispatch/buffers.h"
#include "gdakit.h"

namespace moe {

struct EndStep {
  Buffers buffers;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    // There are as many pairs of local expert and source as there are experts.
    for (std::uint32_t i = m.thread_index(); i < buffers.shape.experts; i += m.block_threads()) {
      m.store(gdakit::order::RelaxedSystem{}, &buffers.received_count[i], 0);
      m.store(gdakit::order::RelaxedGpu{}, &buffers.slots_taken[i], 0);
    }
    if (m.thread_index() < kSendingKernels) {
      m.store(gdakit::order::RelaxedGpu{}, &buffers.blocks_done[m.thread_index()], 0);
    }
    pe.block().barrier_all();
  }
};

}  // namespace moe
