// Which queue atomics and signals take. Usually the poster's own. Where a PE has several NICs it is
// one of the first NIC, at both ends, since a NIC's atomics are atomic with each other alone:
//
//   poster on queue 5 of 3 NICs     puts, gets          queue 5, NIC 2
//                                   atomics, signals    queue 3, NIC 0
//
// Between the two queues there is no order but completion, for which a READ comes behind what was
// put (completing::flush_there). A signal waits for what was posted before it, and fence waits for
// all; an atomic waits for nothing.
#pragma once

#include "device/batch_end.h"
#include "device/complete.h"

namespace gdakit {

// The queue of the first NIC that stands for `queue`: one of those among which threads are spread,
// unless `queue` is of that NIC itself.
GDAKIT_HOST_DEVICE inline std::uint32_t word_queue_of(const DeviceContext& context,
                                                      std::uint32_t queue) {
  if (nic_of(context.heap, queue) == 0) return queue;
  const std::uint32_t mapped = queue % context.mapped_queues.count;
  return mapped - nic_of(context.heap, mapped);
}

// Whether words of `pe` take another queue than the poster's own.
template <class P>
GDAKIT_DEVICE bool has_word_queue(const P& poster, std::int32_t pe) {
  return poster.nic() != 0 && poster.direct_atomic_base(pe) == 0 && poster.can_reach(pe);
}

// act(poster, batch) on the queue that words of `pe` take. On another one than the poster's own
// every call rings, and the poster's batch ends with `batch` as ever. `act` holds copies.
template <class P, class Act>
GDAKIT_DEVICE auto on_word_queue(const P& poster, std::int32_t pe, Batch batch, const Act& act) {
  if (!has_word_queue(poster, pe)) return act(poster, batch);
  if (batch == Batch::last) end_batch(poster, pe);
  return call_with_poster<SharedPublication>(poster.m, poster.context,
                                             word_queue_of(poster.context, poster.queue), true,
                                             [=](const auto& p) { return act(p, Batch::last); });
}

// Completes what was posted to `pe` on the poster's own queue, where words take another one.
template <class P>
GDAKIT_DEVICE Status complete_before_word(const P& poster, std::int32_t pe) {
  if (!has_word_queue(poster, pe)) return {};
  return completing::complete(poster, completing::table_index(poster.context, poster.queue, pe),
                              completing::kAll);
}

}  // namespace gdakit
