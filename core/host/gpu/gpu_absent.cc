// A library built without CUDA.
#include "core/host/gpu/gpu.h"
#include "core/host/gpu/gpu_rdma.h"

namespace gdakit {
namespace {

constexpr const char* kWhy =
    "gdakit was built without CUDA; configure it with -DGDAKIT_CUDA=ON on a machine with nvcc";

}  // namespace

GpuReport report_gpus() { return {{}, "", kWhy}; }

Result<std::unique_ptr<Gpu>> Gpu::open(int) { return Error(Code::unavailable, kWhy); }

Result<GpuRdma> gpu_rdma(int) { return Error(Code::unavailable, kWhy); }

}  // namespace gdakit
