// The last call of a batch, where it posts nothing to the NIC: it moves nothing, is refused, or
// goes directly. What the batch has left open is announced all the same.
#pragma once

#include "device/group.h"
#include "device/poster.h"

namespace gdakit {

// What a post needs of a DeviceContext.
struct PostContext {
  PeWords* words;
  PeState* state;
  std::uint64_t watchdog_ns;
  bool needs_cst;
};

GDAKIT_HOST_DEVICE inline PostContext post_context(const DeviceContext& context) {
  return {context.words, context.state, context.watchdog_ns, context.needs_cst};
}

// act(queue) with a memo of its own. In a function of its own few arguments leave the caller's
// handle and context in registers and constant memory: a reference to a DeviceContext would cost a
// copy of it.
template <class Publication, class M, class Act>
GDAKIT_DEVICE auto with_queue(M& m, const PostContext& context, const QueueView* view,
                              std::uint32_t number, Act&& act) {
  QueueMemo memo;
  remember(m, memo, view->peer, *view);
  SendQueue<M, Publication, PostContext> queue(m, context, memo, number);
  return act(queue);
}

// Closes the batch that stands open on a queue, if one does. A function of its own, of each file.
template <class Publication, class M>
static GDAKIT_DEVICE_CALL void close_open_batch(M m, PostContext context, const QueueView* view,
                                                std::uint32_t number) {
  with_queue<Publication>(m, context, view, number, [](auto& queue) {
    if (queue.is_open()) queue.post_nop();
  });
}

// Announces what stands open on the poster's queue to `pe`, if there is such a queue. A broken one
// takes nothing more: quiet says so.
template <class M, class Publication>
GDAKIT_DEVICE void end_batch(const Poster<M, Publication>& poster, std::int32_t pe) {
  if (!poster.can_reach(pe) || poster.direct_atomic_base(pe) != 0) return;
  poster.forget_queue();
  close_open_batch<Publication>(poster.m, post_context(poster.context), poster.view_of(pe),
                                poster.queue);
}

// The ticket of a call that has posted nothing, by all threads of the group.
template <class P, class Group>
GDAKIT_DEVICE Ticket unposted(const P& poster, Group group, std::int32_t pe, Batch batch,
                              Status status) {
  const Ticket ticket{poster.queue, pe, 0, status};
  if (batch == Batch::more || poster.direct_atomic_base(pe) != 0) return ticket;
  return by_one(poster.m, group, [&] {
    end_batch(poster, pe);
    return ticket;
  });
}

}  // namespace gdakit
