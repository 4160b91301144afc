// Collective launch: kernels whose blocks, on all PEs, run at the same time.
#pragma once

#include <cuda_runtime.h>

#include "nvshmem/detail/setup.h"

// Launches `func` cooperatively: all blocks are resident, or it is an error. gridDims of 0 blocks
// stands for as many as fit.
inline int nvshmemx_collective_launch_query_gridsize(const void* func, dim3 blockDims, void** args,
                                                     size_t sharedMem, int* gridsize) {
  static_cast<void>(args);
  int device = 0;
  int processors = 0;
  int blocks = 0;
  const auto threads = static_cast<int>(blockDims.x * blockDims.y * blockDims.z);
  const bool found =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, func, threads, sharedMem) ==
          cudaSuccess;
  *gridsize = found ? blocks * processors : 0;
  return found ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_INTERNAL;
}

inline int nvshmemx_collective_launch(const void* func, dim3 gridDims, dim3 blockDims, void** args,
                                      size_t sharedMem, cudaStream_t stream) {
  if (gridDims.x == 0) {
    int blocks = 0;
    if (nvshmemx_collective_launch_query_gridsize(func, blockDims, args, sharedMem, &blocks) != 0) {
      return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
    }
    gridDims = dim3(static_cast<unsigned>(blocks));
  }
  const cudaError_t launched =
      cudaLaunchCooperativeKernel(func, gridDims, blockDims, args, sharedMem, stream);
  return launched == cudaSuccess ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}
