// What is a shared receive queue's own: the segment before the data segments of its WQEs, and its
// doorbell record. Source: tests/data/wqe_cqe.csv, rows srq_next, dbr_srq.
//
//   record: counter of posted WQEs
//   WQE 0:  next, data, data ...  -->  WQE `next`  --> ...     the order in which the NIC takes
//   them
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/endian.h"

namespace gdakit::format {

// A WQE's first 16 bytes. Where the WQEs are taken in the order of memory, it says nothing.
struct SrqNextSegment {
  std::uint8_t rsvd0[2];
  Be16 next_wqe_index;
  std::uint8_t signature;
  std::uint8_t rsvd1[11];
};
static_assert(sizeof(SrqNextSegment) == 16 && offsetof(SrqNextSegment, next_wqe_index) == 2);

struct SrqDoorbellRecord {
  Be32 counter;  // of WQEs posted, & 0xffff
};
static_assert(sizeof(SrqDoorbellRecord) == 4);

}  // namespace gdakit::format
