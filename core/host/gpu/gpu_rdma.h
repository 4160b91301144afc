// What CUDA says of NICs that reach a GPU's memory by themselves (GPUDirect RDMA).
#pragma once

#include "core/base/result.h"

namespace gdakit {

struct GpuRdma {
  bool is_supported = false;
  bool takes_heaps = false;  // memory that is mapped into a reserved range, as the symmetric heap's
  // The GPU's threads see what a NIC writes in the order in which it comes, with no read of the
  // NIC's in between.
  bool orders_writes = false;
};

// Of one of report_gpus(), by its ordinal. Errors (unavailable): no driver, or a library without
// CUDA.
Result<GpuRdma> gpu_rdma(int ordinal);

}  // namespace gdakit
