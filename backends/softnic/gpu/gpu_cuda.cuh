// GpuDevice by CUDA.
#pragma once

#include <memory>

#include "backends/softnic/gpu/gpu_device.h"
#include "core/base/result.h"

namespace gdakit::softnic {

// Errors: no such GPU or driver (unavailable), no memory (exhausted). Both kernels are loaded when
// it returns.
Result<std::unique_ptr<GpuDevice>> make_cuda_device(int ordinal);

}  // namespace gdakit::softnic
