// CUDA streams of a test, owned.
#pragma once

#include <cuda_runtime.h>
#include <memory>
#include <string>
#include <vector>

#include "core/host/context.h"

namespace gdakit::test {

inline Result<void> cuda_ok(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return {};
  return Error(Code::system, std::string(call) + ": " + cudaGetErrorString(code));
}

class Streams {
 public:
  // On the GPU of the context's PE. None of them waits for the default stream.
  static Result<Streams> make(Context& c, int count) {
    if (auto current = c.gpu()->make_current(); !current) return current.error();
    Streams streams;
    for (int i = 0; i < count; ++i) {
      cudaStream_t stream = nullptr;
      const cudaError_t made = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      if (auto ok = cuda_ok(made, "cudaStreamCreateWithFlags"); !ok) return ok.error();
      streams.streams_.emplace_back(stream);
    }
    return Result<Streams>(std::move(streams));
  }

  cudaStream_t at(int i) const { return streams_[static_cast<std::size_t>(i)].get(); }

  Streams(Streams&&) = default;

 private:
  Streams() = default;

  struct Destroy {
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  };
  std::vector<std::unique_ptr<CUstream_st, Destroy>> streams_;
};

}  // namespace gdakit::test
