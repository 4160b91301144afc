// On which queue, and when to ring.
#pragma once

#include <cstdint>

#include "device/pe.h"

namespace moe {

// All that has to do with one expert travels on one queue between two PEs, both ways alike: a queue
// keeps the order in which its operations were posted, by whichever thread, and the next expert's
// do not wait behind them.
template <class Pe>
GDAKIT_DEVICE auto queue_of(Pe& pe, std::uint32_t local_expert) {
  return pe.on_queue(local_expert % pe.context().queue_count);
}

// Of every four puts in a row the last one rings the doorbell for all. Those left over ring with
// the atomic that follows them on their queue.
GDAKIT_HOST_DEVICE constexpr gdakit::Batch ring_every_fourth(std::uint64_t number) {
  return number % 4 == 3 ? gdakit::Batch::last : gdakit::Batch::more;
}

}  // namespace moe
