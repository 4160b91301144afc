// The umems of queues: each has one of its own, or queues of a slab share the slab's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "backends/mlx5/umem.h"
#include "core/host/backend.h"

namespace gdakit::mlx5 {

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
