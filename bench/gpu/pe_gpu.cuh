// A PE of a bench: its GPU, its stream, and ordinary __global__ kernels on it.
//
//   PeGpu gpu(context);
//   if (auto ready = gpu.open(); !ready) return ready;
//   my_kernel<<<blocks, threads, 0, gpu.stream()>>>(gpu.context().device_context(), ...);
//   if (auto ran = gpu.finish("my kernel"); !ran) return ran;
#pragma once

#include <string>

#include "bench/gpu/cuda_parts.cuh"
#include "gdakit.h"

namespace gdakit::bench {

class PeGpu {
 public:
  explicit PeGpu(Context& context) : context_(context) {}

  // Errors: the PE runs on the CPU emulator (unavailable).
  Result<void> open() {
    Gpu* const gpu = context_.gpu();
    if (gpu == nullptr) return Error(Code::unavailable, "this PE does not run on a GPU");
    if (auto current = gpu->make_current(); !current) return current;
    return check(
        cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, gpu->ordinal()),
        "cudaDeviceGetAttribute");
  }

  Context& context() { return context_; }
  cudaStream_t stream() const { return context_.stream(); }
  std::uint32_t multiprocessors() const { return static_cast<std::uint32_t>(multiprocessors_); }

  // Sets `bytes` bytes to 0 and waits for it.
  Result<void> clear(void* memory, std::size_t bytes) {
    auto issued = check(cudaMemsetAsync(memory, 0, bytes, stream()), "cudaMemsetAsync");
    return issued ? finish("clearing memory") : issued;
  }

  // Waits for what was launched on stream(). The error is the launch's, the kernel's, or the first
  // one that the device has reported.
  Result<void> finish(const std::string& what) {
    if (auto launched = check(cudaGetLastError(), what); !launched) return launched;
    if (auto ran = context_.synchronize(stream()); !ran) return ran.error().within(what);
    return {};
  }

 private:
  Context& context_;
  int multiprocessors_ = 0;
};

// Cycles of one multiprocessor to nanoseconds, by the clocks of a whole run.
struct Clocks {
  std::uint64_t cycles;
  std::uint64_t ns;

  double ns_of(std::uint64_t count) const {
    return static_cast<double>(count) * static_cast<double>(ns) / static_cast<double>(cycles);
  }
};

}  // namespace gdakit::bench
