// Step 2: every expert works on the messages that it got, and sends each answer home.
//
// A block takes one pair of local expert and source PE, and its warps share the messages out. The
// flag that tells the source that this expert is through is an atomic behind the puts, on the same
// queue: were it on another one, it could overtake them, and the source would add up old values.
#pragma once

#include "examples/moe_dispatch/buffers.h"
#include "examples/moe_dispatch/post.h"
#include "examples/moe_dispatch/warp.h"
#include "gdakit.h"

namespace moe {

struct Experts {
  Buffers buffers;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t pes = buffers.shape.pes;
    const std::uint32_t pairs = buffers.shape.experts_per_pe() * pes;
    for (std::uint32_t pair = m.block_index(); pair < pairs; pair += m.grid_blocks()) {
      serve(pe, pair / pes, static_cast<int>(pair % pes));
    }
  }

 private:
  template <class Pe>
  GDAKIT_DEVICE void serve(Pe& pe, std::uint32_t local, int source) const {
    auto& m = pe.machine();
    const std::uint64_t messages = wait_for_count(pe, buffers.count_word(local, source));
    for (std::uint64_t slot = m.warp(); slot < messages; slot += warps_of(m)) {
      answer(pe, local, source, slot);
    }
    m.sync_block();  // all warps have posted their puts
    if (m.thread_index() != 0) return;
    const std::uint32_t expert = buffers.shape.global(pe.my_pe(), local);
    queue_of(pe, local).atomic_add(&buffers.finished[expert], 1, source);
  }

  // Every warp waits for itself. Once the count is here, so are the messages that were put before
  // it. A wait that the watchdog gave up leaves the count at 0; the launch then returns the stall.
  template <class Pe>
  GDAKIT_DEVICE std::uint64_t wait_for_count(Pe& pe, const std::uint64_t* word) const {
    auto& m = pe.machine();
    const std::uint64_t count = from_lane_0(m, [&] {
      pe.wait_until(word, gdakit::Compare::ne, 0);
      return m.load(gdakit::order::RelaxedSystem{}, word);
    });
    return count == 0 ? 0 : count - 1;
  }

  // By one warp. The answers overwrite the values they were made from.
  template <class Pe>
  GDAKIT_DEVICE void answer(Pe& pe, std::uint32_t local, int source, std::uint64_t slot) const {
    auto& m = pe.machine();
    const Message message = buffers.received_message(local, source, slot);
    const std::uint32_t expert = buffers.shape.global(pe.my_pe(), local);
    float* const values = message.values();
    for (std::uint32_t i = m.lane(); i < buffers.shape.hidden; i += gdakit::kWarpSize) {
      values[i] = apply_expert(expert, values[i]);
    }
    float* const place = buffers.combined_values(message.header().token, rank_of(message, expert));
    queue_of(pe, local).warp().put_nbi(place, values, buffers.shape.hidden, source,
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
