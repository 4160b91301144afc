// The 16-bit floating-point types of CUDA, as NVSHMEM's names take them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace gdakit::nvshmem {

using half_type = __half;
using bfloat16_type = __nv_bfloat16;

}  // namespace gdakit::nvshmem
