// A kernel that drives a queue pair by itself.
#pragma once

#include <cstdint>

#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "core/format/wqe.h"

namespace gdakit::verbs_gpu {

// As a GPU reaches them.
struct GpuQueue {
  format::Wqebb* wqes = nullptr;
  format::Cqe64* cqes = nullptr;
  format::DoorbellRecord* record = nullptr;  // null: of none
  std::uint64_t* doorbell = nullptr;
  std::uint32_t qpn = 0;
  std::uint32_t depth = 0;
};

struct Writes {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint32_t lkey = 0;
  std::uint32_t rkey = 0;
  std::uint32_t bytes = 0;  // of each, one behind the other
  std::uint32_t count = 0;  // at most the queue's depth
};

// One thread posts the writes one by one, and waits for each by its CQE. `status` in host memory:
// how many came back well.
void run_writes(const GpuQueue& queue, const Writes& writes, std::uint32_t* done);

}  // namespace gdakit::verbs_gpu
