// Completing what was posted: quiet and fence.
#pragma once

#include "device/complete.h"

namespace gdakit {

GDAKIT_HOST_DEVICE inline std::uint32_t table_size(const DeviceContext& context) {
  return context.queue_count * static_cast<std::uint32_t>(context.n_pes);
}

// The first broken queue's status, or ok.
template <class M>
GDAKIT_DEVICE Status first_error(M& m, const DeviceContext& context) {
  for (std::uint32_t i = 0; i < table_size(context); ++i) {
    if (!completing::is_asked(context, i)) continue;
    if (Status status = queue_status(m, context.queues[i]); !status) return status;
  }
  return {};
}

// Completes what was posted on every queue, by a group that has met and shares the queues out.
template <class P, class Group>
GDAKIT_DEVICE Status complete_queues(const P& poster, Group group) {
  const Share share = share_of(poster.m, group);
  Status status;
  for (std::uint32_t i = share.first; i < table_size(poster.context); i += share.step) {
    if (!completing::is_asked(poster.context, i)) continue;
    const Status one = completing::complete(poster, i, completing::kAll);
    if (!one && status.ok()) status = one;
  }
  meet(poster.m, group);
  poster.complete_direct();  // by each thread: its next store may tell of what any of them did
  if constexpr (std::is_same_v<Group, ThreadGroup>) {
    return status.ok() ? first_error(poster.m, poster.context) : status;
  } else {
    return agree_on(poster.m, group, first_error(poster.m, poster.context));
  }
}

// Completes all operations that this PE posted before. Queues without an outstanding operation cost
// a few loads each. A batch that is open on an exclusive queue is its owner's to close
// (complete.h). A group returns the Status of the first broken queue of the table, as each of its
// threads has looked at some queues only.
template <class P, class Group>
GDAKIT_DEVICE Status quiet(const P& poster, Group group) {
  meet(poster.m, group);
  if (poster.context.heap.direct_only) {
    poster.complete_direct();
    return {};
  }
  return look_closer(poster, [=](const auto& p) { return complete_queues(p, group); });
}

// Orders the calling thread's earlier puts and atomics on the poster's queue to each PE before its
// later ones there. Through the NIC they stay in the queue's order, so there is nothing to do.
// Where a PE gets puts directly and atomics through the NIC, or atomics take another queue
// (word_queue.h), or puts are placed in any order, these must have arrived.
template <class P, class Group>
GDAKIT_DEVICE Status fence(const P& poster, Group group) {
  const HeapView& heap = poster.context.heap;
  if (heap.direct_mixed || heap.any_placement || poster.nic() != 0) return quiet(poster, group);
  meet(poster.m, group);
  poster.order_direct();
  return {};
}

}  // namespace gdakit
