#include "core/host/gpu/cuda_driver.h"
#include "core/host/gpu/cuda_stream.h"

namespace gdakit::cuda {
namespace {

__global__ void do_nothing() {}

}  // namespace

std::mutex& first_work() {
  static std::mutex mutex;
  return mutex;
}

Result<void> give_work(cudaStream_t stream) {
  do_nothing<<<1, 1, 0, stream>>>();
  return check(cudaGetLastError(), "the first kernel of a stream");
}

Result<cudaStream_t> make_stream() {
  cudaStream_t stream = nullptr;
  if (auto made = check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                        "cudaStreamCreateWithFlags");
      !made) {
    return made.error();
  }
  const std::lock_guard lock(first_work());
  Result<void> worked = give_work(stream);
  if (worked) worked = check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  if (worked) return stream;
  cudaStreamDestroy(stream);
  return worked.error();
}

}  // namespace gdakit::cuda
