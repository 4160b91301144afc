// Step 3: every answer goes home, to the PE that its token came from.
//
// The flag that tells the source that an expert is through with its messages is an atomic behind
// the puts, on the same queue: were it on another one, it could overtake them, and the source would
// add up old values. As in dispatch.h, the last block waits until all answers have come here.
#pragma once

#include "examples/moe_dispatch/buffers.h"
#include "examples/moe_dispatch/pairs.h"
#include "examples/moe_dispatch/post.h"
#include "gdakit.h"

namespace moe {

struct Answer {
  Buffers buffers;
  std::uint64_t step;  // counted from 1

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for_each_pair(m, buffers, [&](std::uint32_t local, int source) {
      for_each_slot(m, buffers, local, source,
                    [&](std::uint64_t slot) { send(pe, local, source, slot); });
      m.sync_block();  // all warps have posted their puts
      if (m.thread_index() != 0) return;
      const std::uint32_t expert = buffers.shape.global(pe.my_pe(), local);
      queue_of(pe, local).atomic_add(&buffers.finished[expert], 1, source);
    });
    m.sync_block();
    if (m.warp() != 0 || !is_last_block(m, &buffers.blocks_done[kAnswer]) || m.lane() != 0) return;
    // Each expert adds 1 per step when its answers are here. A flag is never reset, so none is lost
    // to a reset that comes too early or too late.
    pe.wait_until_all(buffers.finished, buffers.shape.experts, nullptr, gdakit::Compare::ge, step);
  }

 private:
  // By one warp.
  template <class Pe>
  GDAKIT_DEVICE void send(Pe& pe, std::uint32_t local, int source, std::uint64_t slot) const {
    const Message message = buffers.received_message(local, source, slot);
    const std::uint32_t expert = buffers.shape.global(pe.my_pe(), local);
    float* const place = buffers.combined_values(message.header().token, rank_of(message, expert));
    queue_of(pe, local).warp().put_nbi(place, message.values(), buffers.shape.hidden, source,
                                       ring_every_fourth(slot));
  }

  // The j for which `expert` is the message's j-th expert.
  GDAKIT_DEVICE std::uint32_t rank_of(const Message& message, std::uint32_t expert) const {
    std::uint32_t j = 0;
    while (message.header().route.expert[j] != expert && j + 1 < buffers.shape.top_k) ++j;
    return j;
  }
};

}  // namespace moe
