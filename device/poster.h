// A thread's way to the queues of its PE, and how lanes find each other to post together.
#pragma once

#include <type_traits>
#include <utility>

#include "device/send_queue.h"

namespace gdakit {

// A poster's machine.
template <class P>
using M_of = std::remove_reference_t<decltype(std::declval<P>().m)>;

// Posts on one queue per peer: always the same one, so that a thread's operations to one PE stay in
// order.
template <class M, class Publication>
struct Poster {
  M& m;
  const DeviceContext& context;
  std::uint32_t queue;  // index among the queues to each peer
  HandleMemo& memo;
  bool is_mapped = true;  // the queue is one of those among which threads are spread

  using Queue = SendQueue<M, Publication>;

  // Whether it posts with the lanes that are in the same call, and so asks which those are. A
  // thread that asked and did not post with them would be waited for.
  static constexpr bool joins_lanes = Publication::joins_lanes;

  GDAKIT_DEVICE Queue to(std::int32_t pe) const {
    if (memo.queue.peer != pe) remember(m, memo.queue, pe, *view_of(pe));
    return remembered();
  }
  // The one that is remembered, of which there must be one.
  GDAKIT_DEVICE Queue remembered() const { return Queue(m, context, memo.queue, queue); }

  // The NIC that reads its WQEs.
  GDAKIT_DEVICE std::uint32_t nic() const { return nic_of(context.heap, queue); }

  GDAKIT_DEVICE Span remote_span(std::uint64_t address, std::int32_t pe) const {
    return memo.addresses.remote_span(context, address, pe, nic());
  }
  GDAKIT_DEVICE Span local_span(std::uint64_t address) const {
    return memo.addresses.local_span(context, address, nic());
  }

  // Whether few instructions and no load tell where this PE's threads reach `bytes` bytes at
  // `address` of the heap of `pe`, by loads and stores or, a word, by atomics: at *there. Otherwise
  // it takes a closer look. There are no branches, which would take longer than all of it.
  GDAKIT_DEVICE bool is_near(std::uint64_t address, std::uint64_t bytes, std::int32_t pe,
                             std::uint64_t* there) const {
    const HeapView& heap = context.heap;
    const auto number = static_cast<std::uint32_t>(pe);
    const std::uint64_t base = heap.direct_near[number % kNearPes];
    const bool reaches = is_mapped & (number < kNearPes) & (base != 0);
    *there = base + (address - heap.base);
    return reaches & is_surely_in_heap(heap, address, bytes);
  }
  GDAKIT_DEVICE bool is_near_word(std::uint64_t address, std::uint32_t bytes, std::int32_t pe,
                                  std::uint64_t* there) const {
    return ((address & (bytes - 1)) == 0) & is_near(address, bytes, pe, there);
  }

  // Where they reach the heap of a direct peer, for puts and gets or for atomics; else 0, as for a
  // PE or a queue that is not there. A job without direct peers pays for one look at a pointer.
  GDAKIT_DEVICE std::uint64_t direct_base(std::int32_t pe) const {
    const HeapView& heap = context.heap;
    if (heap.direct_bases == nullptr || !is_named(pe)) return 0;
    const auto number = static_cast<std::uint32_t>(pe);
    const std::uint64_t near = number < kNearPes ? heap.direct_near[number] : 0;
    return near != 0 ? near : heap.direct_bases[number];
  }
  GDAKIT_DEVICE std::uint64_t direct_atomic_base(std::int32_t pe) const {
    const HeapView& heap = context.heap;
    if (!heap.direct_mixed) return direct_base(pe);
    return is_named(pe) ? heap.direct_atomic_bases[pe] : 0;
  }
  // Orders what this thread has stored to direct peers, and what it has seen of others, before all
  // that it stores later.
  GDAKIT_DEVICE void order_direct() const {
    if (context.heap.direct_bases != nullptr) m.fence(order::DirectBeforeLater{});
  }

  // The same, and makes it complete: before what it and others that came to here later read, too.
  GDAKIT_DEVICE void complete_direct() const {
    if (context.heap.direct_bases != nullptr) m.fence(order::DirectComplete{});
  }

  GDAKIT_DEVICE Status fault(Operation operation, Fault what, std::int32_t pe,
                             std::uint64_t address, std::uint64_t bytes) const {
    return report_fault(m, context, operation, what, pe, address, bytes);
  }

  // What is wrong with a PE that cannot be reached, or with the queue.
  GDAKIT_DEVICE Fault unreachable(std::int32_t pe) const {
    if (pe < 0 || pe >= context.n_pes) return Fault::no_pe;
    if (queue >= context.queue_count) return Fault::no_queue;
    return view_of(pe)->state == nullptr ? Fault::not_connected : Fault::wrong_sharing;
  }

  // Whether `pe` can be posted to: it exists, there is a queue to it, and that is of the sharing
  // which this poster assumes.
  GDAKIT_DEVICE bool can_reach(std::int32_t pe) const {
    if (memo.queue.peer == pe && pe >= 0) return true;
    return is_named(pe) && view_of(pe)->state != nullptr;
  }
  // The same, but for whether there is a queue: a direct peer needs none.
  GDAKIT_DEVICE bool is_named(std::int32_t pe) const {
    if (memo.queue.peer == pe && pe >= 0) return true;
    if (pe < 0 || pe >= context.n_pes || queue >= context.queue_count) return false;
    if (is_mapped) return true;
    const QueueView* const view = view_of(pe);
    return view->state == nullptr || view->sharing == Publication::sharing;
  }

  // What this PE has of the queue to `pe`, which is named.
  GDAKIT_DEVICE const QueueView* view_of(std::int32_t pe) const {
    const auto peers = static_cast<std::uint64_t>(context.n_pes);
    return &context.queues[queue * peers + static_cast<std::uint64_t>(pe)];
  }

  // Before a function of its own posts to the queue: what this handle remembers of an exclusive one
  // would be void, and of any one it would take registers for the time of the call.
  GDAKIT_DEVICE void forget_queue() const { memo.queue = QueueMemo{}; }
};

// act(poster), as a function of its own, of each file. Where `context` is not in constant memory
// the call costs a copy of it.
template <class Publication, class M, class Act>
static GDAKIT_DEVICE_CALL auto call_with_poster(M m, const DeviceContext& context,
                                                std::uint32_t queue, bool is_mapped, Act act) {
  HandleMemo memo;
  return act(Poster<M, Publication>{m, context, queue, memo, is_mapped});
}

// act(poster) for what is seldom, in a function of its own and with a memo of its own: nothing of
// it stands in the way of usual posts, or takes registers of theirs. `act` holds copies.
template <class M, class Publication, class Act>
GDAKIT_DEVICE auto aside(const Poster<M, Publication>& poster, const Act& act) {
  poster.forget_queue();
  return call_with_poster<Publication>(poster.m, poster.context, poster.queue, poster.is_mapped,
                                       act);
}

// act(poster), where a quick look did not tell. `act` holds copies: references to a caller's
// objects would keep them in memory.
template <class M, class Publication, class Act>
GDAKIT_DEVICE auto look_closer(const Poster<M, Publication>& poster, const Act& act) {
  if constexpr (std::is_same_v<Publication, CalledPublication>) {
    return call_with_poster<SharedPublication>(poster.m, poster.context, poster.queue,
                                               poster.is_mapped, act);
  } else {
    return act(poster);
  }
}

// The first queue of a NIC to the PE itself. It is shared, so any thread may post to it.
template <class M>
GDAKIT_DEVICE auto own_queue(M& m, const DeviceContext& context, QueueMemo& memo,
                             std::uint32_t nic) {
  const std::int32_t me = context.my_pe;
  const auto peers = static_cast<std::uint64_t>(context.n_pes);
  remember(m, memo, me, context.queues[nic * peers + static_cast<std::uint64_t>(me)]);
  return SendQueue<M, SharedPublication>(m, context, memo, nic);
}

// Who posts with the calling thread to `pe`: the lanes of `mask`, which are in the same call with
// it (so the caller asks for it: one that asked here would meet lanes of other operations), on the
// same queue (on_queue lets each lane choose its own) and in the same shape (lanes may come with
// different operations). A lane for which `joins` is false posts alone, as does one whose crew
// would need more cells than the queue takes at once, and the owner of an exclusive queue.
template <class M, class Publication, class Context>
GDAKIT_DEVICE auto form_crew(M& m, const SendQueue<M, Publication, Context>& queue, LaneMask mask,
                             std::int32_t pe, PostShape shape, bool joins) {
  if constexpr (!Publication::joins_lanes) {
    return LoneThread{};
  } else {
    const Crew alone = Crew::of_one(m);
    if (mask == alone.mask) return alone;
    const std::uint64_t post =
        std::uint64_t{queue.index()} << 48 | std::uint64_t{shape.cells} << 40 |
        static_cast<std::uint64_t>(shape.tail) << 32 | static_cast<std::uint32_t>(pe);
    const LaneMask peers = m.match_any(mask, post);
    const LaneMask joined = m.ballot(peers, joins);
    if (!joins || shape.total(lane_count(joined)) > queue.max_post()) return alone;
    return Crew{joined, m.lane()};
  }
}

// All existing lanes of the calling warp.
template <class M>
GDAKIT_DEVICE LaneMask whole_warp(const M& m) {
  const std::uint32_t left = m.block_threads() - m.warp() * kWarpSize;
  return static_cast<LaneMask>(low_bits(static_cast<int>(left < kWarpSize ? left : kWarpSize)));
}

}  // namespace gdakit
