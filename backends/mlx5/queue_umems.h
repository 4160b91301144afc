// The umems of queues: each has one of its own, or queues of a slab share the slab's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "backends/mlx5/umem.h"
#include "core/format/cq_doorbell.h"
#include "core/format/doorbell.h"
#include "core/host/backend.h"

namespace gdakit::mlx5 {

// What lies where a queue has its doorbell record, in a GPU's memory or the host's. Firmware asks
// for a record of each CQ, too. No thread writes those: the NIC ignores overruns, so it does not
// need to know how far a consumer has got, and it is never asked for events. That they share the
// queue's line costs nothing, therefore.
struct QueueRecords {
  format::DoorbellRecord queue;
  format::CqDoorbellRecord send_cq;
  format::CqDoorbellRecord receive_cq;  // of a queue that receives
};
static_assert(sizeof(QueueRecords) == 24 && offsetof(QueueRecords, queue) == 0 &&
              offsetof(QueueRecords, send_cq) == 8 && offsetof(QueueRecords, receive_cq) == 16);

class QueueUmems {
 public:
  // `memory` is where the queues lie.
  QueueUmems(const OpenNic& nic, MemoryProvider& memory) : nic_(nic), memory_(memory) {}

  // A slab's is there as long as a queue of the slab has it. Errors: as Umem::make's; the queue is
  // not within its slab (invalid_argument).
  Result<std::shared_ptr<Umem>> of(const QueueMemory& queue);

 private:
  Result<std::shared_ptr<Umem>> of_slab(const QueueSlab& slab);

  const OpenNic& nic_;
  MemoryProvider& memory_;
  std::map<std::pair<const void*, std::uint64_t>, std::weak_ptr<Umem>> slabs_;
};

}  // namespace gdakit::mlx5
