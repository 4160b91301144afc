// Step 1: every token goes to its experts, wherever they are.
//
// A block takes a token: its threads fill the message, and warp j sends it to the j-th expert. Once
// all blocks are done, each expert is told how many messages to expect. The count is an atomic that
// follows the puts on the same queue, so it arrives behind the last of them, with no wait between.
//
// The last block then waits until the counts of all other PEs have come here, and with them their
// messages. It is the only one that waits, so the kernel needs no more room than one block to end,
// and other PEs on the same GPU can go on.
#pragma once

#include "examples/moe_dispatch/buffers.h"
#include "examples/moe_dispatch/post.h"
#include "examples/moe_dispatch/warp.h"
#include "gdakit.h"

namespace moe {

struct Dispatch {
  Buffers buffers;
  std::uint32_t tokens;  // of this step

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (std::uint32_t t = m.block_index(); t < tokens; t += m.grid_blocks()) {
      fill(m, t);
      m.sync_block();
      for (std::uint32_t j = m.warp(); j < buffers.shape.top_k; j += warps_of(m)) send(pe, t, j);
    }
    m.sync_block();  // all warps of this block have posted their puts
    if (m.warp() != 0 || !is_last_block(m, &buffers.blocks_done[kDispatch])) return;
    post_counts(pe);
    if (m.lane() != 0) return;
    pe.wait_until_all(buffers.received_count, buffers.shape.experts, nullptr, gdakit::Compare::ne,
                      0);
  }

 private:
  template <class M>
  GDAKIT_DEVICE void fill(M& m, std::uint32_t t) const {
    const Message message = buffers.send_message(t);
    const Token token = buffers.tokens[t];
    if (m.thread_index() == 0) {
      message.header() = {t, route_of(token, buffers.shape.experts, buffers.shape.top_k)};
    }
    for (std::uint32_t i = m.thread_index(); i < buffers.shape.hidden; i += m.block_threads()) {
      message.values()[i] = embed(token, i);
    }
  }

  template <class Pe>
  GDAKIT_DEVICE void send(Pe& pe, std::uint32_t t, std::uint32_t j) const {
    auto& m = pe.machine();
    const Message message = buffers.send_message(t);
    const std::uint32_t expert = message.header().route.expert[j];
    const std::uint32_t local = buffers.shape.local(expert);
    const std::uint64_t slot = from_lane_0(m, [&] {
      return m.fetch_add(gdakit::order::RelaxedGpu{}, &buffers.slots_taken[expert], 1);
    });
    queue_of(pe, local).warp().put_nbi(buffers.received_message(local, pe.my_pe(), slot).data,
                                       message.data, buffers.message_bytes(),
                                       buffers.shape.owner(expert), ring_every_fourth(slot));
  }

  // One more than the count, so that 0 keeps meaning "not known yet" and no message is news, too.
  template <class Pe>
  GDAKIT_DEVICE void post_counts(Pe& pe) const {
    auto& m = pe.machine();
    for (std::uint32_t expert = m.lane(); expert < buffers.shape.experts;
         expert += gdakit::kWarpSize) {
      const std::uint32_t local = buffers.shape.local(expert);
      const std::uint64_t count = m.load(gdakit::order::RelaxedGpu{}, &buffers.slots_taken[expert]);
      queue_of(pe, local).atomic_add(buffers.count_word(local, pe.my_pe()), count + 1,
                                     buffers.shape.owner(expert));
    }
  }
};

}  // namespace moe
