// Collective launch: kernels whose blocks, on all PEs, run at the same time.
#pragma once

#include <algorithm>
#include <cuda.h>  // for programs, which use it without including it
#include <cuda_runtime.h>
#include <vector>

#include "nvshmem/detail/setup.h"

extern "C" {

// As many blocks as fit at once.
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

typedef struct {
  cudaLaunchConfig_t cuda_config;
} nvshmemx_collective_launch_attr_t;

// Launches `func` cooperatively, unless the attributes say otherwise: all blocks are resident, or
// it is an error. A grid of 0 blocks stands for as many as fit.
inline int nvshmemx_collective_launch_attr(const nvshmemx_collective_launch_attr_t* attr,
                                           const void* func, void** args) {
  if (attr == nullptr) return NVSHMEMX_ERROR_INVALID_VALUE;
  cudaLaunchConfig_t config = attr->cuda_config;
  if (config.gridDim.x == 0) {
    int blocks = 0;
    if (nvshmemx_collective_launch_query_gridsize(func, config.blockDim, args,
                                                  config.dynamicSmemBytes, &blocks) != 0) {
      return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
    }
    config.gridDim = dim3(static_cast<unsigned>(blocks));
  }
  std::vector<cudaLaunchAttribute> attributes(config.attrs, config.attrs + config.numAttrs);
  if (std::none_of(attributes.begin(), attributes.end(), [](const cudaLaunchAttribute& each) {
        return each.id == cudaLaunchAttributeCooperative;
      })) {
    attributes.push_back({});
    attributes.back().id = cudaLaunchAttributeCooperative;
    attributes.back().val.cooperative = 1;
  }
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  return cudaLaunchKernelExC(&config, func, args) == cudaSuccess
             ? NVSHMEMX_SUCCESS
             : NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}

inline int nvshmemx_collective_launch(const void* func, dim3 gridDims, dim3 blockDims, void** args,
                                      size_t sharedMem, cudaStream_t stream) {
  nvshmemx_collective_launch_attr_t attr{};
  attr.cuda_config.gridDim = gridDims;
  attr.cuda_config.blockDim = blockDims;
  attr.cuda_config.dynamicSmemBytes = sharedMem;
  attr.cuda_config.stream = stream;
  return nvshmemx_collective_launch_attr(&attr, func, args);
}

}  // extern "C"

namespace gdakit::nvshmem {

// The GPU of that number, counted round those of this host: as the PEs of a host share its GPUs
// when they are more.
inline cudaError_t set_device(int device) {
  int count = 0;
  if (device > 0 && cudaGetDeviceCount(&count) == cudaSuccess && count > 0) device %= count;
  return cudaSetDevice(device);
}

}  // namespace gdakit::nvshmem

// Programs for NVSHMEM have a GPU for each PE, take the one of their PE's number on its host, and
// end if there is none. GDAKIT_NVSHMEM_KEEP_SET_DEVICE: cudaSetDevice as it is.
#ifndef GDAKIT_NVSHMEM_KEEP_SET_DEVICE
#define cudaSetDevice(device) gdakit::nvshmem::set_device(device)
#endif
