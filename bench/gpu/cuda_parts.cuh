// Owners of the CUDA objects that the benches use, and errors in words.
#pragma once

#include <cstdint>
#include <cuda.h>
#include <cuda_runtime.h>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace gdakit::bench {

inline Result<void> check(cudaError_t code, const std::string& call) {
  if (code == cudaSuccess) return {};
  return Error(Code::system, call + ": " + cudaGetErrorString(code));
}

class CudaStream {
 public:
  CudaStream() = default;
  ~CudaStream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  // On the current device; waits for no other stream.
  Result<void> create() {
    return check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
                 "cudaStreamCreateWithFlags");
  }
  cudaStream_t get() const { return stream_; }
  Result<void> wait() const {
    return check(cudaStreamSynchronize(stream_), "waiting for a kernel");
  }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaEvent {
 public:
  CudaEvent() = default;
  ~CudaEvent() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  Result<void> create() { return check(cudaEventCreate(&event_), "cudaEventCreate"); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Device memory of the current GPU, zeroed.
template <class T>
class DeviceMemory {
 public:
  Result<void> allocate(std::size_t count) {
    void* memory = nullptr;
    auto done = check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
    if (!done) return done;
    memory_.reset(static_cast<T*>(memory));
    auto cleared = check(cudaMemset(memory, 0, count * sizeof(T)), "cudaMemset");
    // A memset of device memory does not wait, and streams of ours would not wait for it.
    return cleared ? check(cudaStreamSynchronize(nullptr), "cudaMemset") : cleared;
  }
  T* get() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(T* memory) const { cudaFree(memory); }
  };
  std::unique_ptr<T, Free> memory_;
};

// Host memory that every GPU reads and writes at the same address, zeroed.
template <class T>
class PinnedMemory {
 public:
  Result<void> allocate(std::size_t count) {
    void* memory = nullptr;
    auto done = check(
        cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocPortable | cudaHostAllocMapped),
        "cudaHostAlloc");
    if (!done) return done;
    memory_.reset(static_cast<T*>(memory));
    for (std::size_t i = 0; i < count; ++i) memory_.get()[i] = T{};
    return {};
  }
  T* get() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(T* memory) const { cudaFreeHost(memory); }
  };
  std::unique_ptr<T, Free> memory_;
};

using DeviceWords = DeviceMemory<std::uint64_t>;
using PinnedWords = PinnedMemory<std::uint64_t>;

// cuStreamWriteValue64, found at run time: the benches start on machines without a driver.
class WriteValue {
 public:
  Result<void> find() {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    auto done = check(cudaGetDriverEntryPointByVersion("cuStreamWriteValue64", &function, 12000,
                                                       cudaEnableDefault, &found),
                      "cudaGetDriverEntryPointByVersion");
    if (!done) return done;
    if (found != cudaDriverEntryPointSuccess) {
      return Error(Code::unavailable, "the driver has no cuStreamWriteValue64");
    }
    function_ = reinterpret_cast<decltype(function_)>(function);
    return {};
  }
  // Writes the value once all that was put into the stream before is done.
  Result<void> operator()(cudaStream_t stream, std::uint64_t* word, std::uint64_t value) const {
    const CUresult code = function_(stream, reinterpret_cast<CUdeviceptr>(word), value, 0);
    if (code == CUDA_SUCCESS) return {};
    return Error(Code::system, "cuStreamWriteValue64 failed with code " + std::to_string(code));
  }

 private:
  decltype(&cuStreamWriteValue64) function_ = nullptr;
};

}  // namespace gdakit::bench
