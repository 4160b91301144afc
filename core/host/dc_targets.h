// The DC targets of all PEs, one of each of their NICs, as WQEs of each row of initiators name
// them.
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
  // Collective. Has this PE's targets made, and tells the others. `rows` is a multiple of the NICs.
  // Errors: a PE could not make its own, and why (exhausted); a card that is none
  // (invalid_argument); the backend's.
  static Result<std::unique_ptr<DcTargets>> exchange(Bootstrap& bootstrap, Backend& backend,
                                                     MemoryProvider& memory, std::uint32_t rows);

  // Where that of `pe` is for queues of a row, by whose NIC it is reached: a format::AvSegment.
  // Rows beyond those of the exchange have the addresses of those by modulo.
  const format::Segment* address(std::uint32_t row, int pe) const;

 private:
  DcTargets(std::uint32_t rows, std::size_t n_pes) : rows_(rows), n_pes_(n_pes) {}

  const std::uint32_t rows_;
  const std::size_t n_pes_;
  std::unique_ptr<MemoryBlock> table_;  // format::AvSegment[row][pe]
};

}  // namespace gdakit
