// The helper kernels of the GPU DMA port, as its device launches them.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/softnic/gpu/gpu_batch.h"

namespace gdakit::softnic {

// A warp for each chain.
void launch_batch_kernel(cudaStream_t stream, const GpuLaunch& launch, int multiprocessors);
// All of the GPU for the chunks of copies that are not small, a block for each run of shorter ones.
void launch_bulk_kernel(cudaStream_t stream, const GpuLaunch& launch, int multiprocessors);
cudaError_t load_bulk_kernels(cudaStream_t stream);
// Launches all kernels for nothing and waits for them, so that nothing is loaded beside a user's
// kernel later.
cudaError_t load_kernels(cudaStream_t stream);

}  // namespace gdakit::softnic
