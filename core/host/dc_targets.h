// The DC targets of all PEs, one of each of their NICs, as WQEs name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/format/wqe.h"
#include "core/host/backend.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit {

class DcTargets {
 public:
  // Collective. Has this PE's targets made, and tells the others. Errors: a PE could not make its
  // own (exhausted); a card that is none (invalid_argument); the backend's.
  static Result<std::unique_ptr<DcTargets>> exchange(Bootstrap& bootstrap, Backend& backend,
                                                     MemoryProvider& memory);

  // Where that of `pe` is for queues of the NIC number `nic`: a format::AvSegment.
  const format::Segment* address(std::uint32_t nic, int pe) const;

 private:
  explicit DcTargets(std::size_t n_pes) : n_pes_(n_pes) {}

  const std::size_t n_pes_;
  std::unique_ptr<MemoryBlock> table_;  // format::AvSegment[nic][pe]
};

}  // namespace gdakit
