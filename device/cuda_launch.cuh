// Launching a kernel callable on a GPU: calls kernel(pe) for every thread, with a Pe of its own.
// Users' own __global__ functions do the same with the DeviceContext that they take by value.
#pragma once

#include <cuda_runtime_api.h>
#include <type_traits>

#include "device/cuda_machine.cuh"
#include "device/pe.h"

namespace gdakit {

// The largest block of a kernel that says so by a member `max_threads`, which then gets by with the
// registers that so many threads leave each other. 0: as many registers as nvcc likes.
template <class Kernel, class = void>
inline constexpr int max_threads_of = 0;
template <class Kernel>
inline constexpr int max_threads_of<Kernel, std::void_t<decltype(Kernel::max_threads)>> =
    static_cast<int>(Kernel::max_threads);

template <class Kernel>
__global__ void __launch_bounds__(max_threads_of<Kernel>)
    run_on_gpu(const __grid_constant__ DeviceContext context,
               const __grid_constant__ Kernel kernel) {
  CudaMachine machine(context);
  Pe<CudaMachine> pe(machine, context);
  kernel(pe);
}

// Enqueues the kernel on `stream` of the current device and returns at once.
template <class Kernel>
cudaError_t launch_on_gpu(const DeviceContext& context, cudaStream_t stream, const Kernel& kernel,
                          LaunchShape shape) {
  static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel goes to the GPU as bytes");
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = shape.cooperative ? 1 : 0;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks);
  config.blockDim = dim3(shape.threads);
  config.stream = stream;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, run_on_gpu<Kernel>, context, kernel);
}

}  // namespace gdakit
