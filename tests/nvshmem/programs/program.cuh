// What the programs of this folder share: they are written as NVSHMEM's users write them, with its
// public interface and the CUDA runtime alone. Each verifies what it did, prints OK, and exits with
// 0 only then.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <vector>

namespace program {

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

inline int count_gpus() {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0) return gpus;
  std::printf("no GPU: left out\n");
  std::exit(0);
}

// After init: each PE of a host takes the GPU of its number.
inline void take_gpu() {
  check(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % count_gpus()), "cudaSetDevice");
}

template <class T>
T* symmetric(std::size_t count) {
  T* const memory = static_cast<T*>(nvshmem_calloc(count, sizeof(T)));
  if (memory != nullptr) return memory;
  std::fprintf(stderr, "PE %d: no room for %zu elements\n", nvshmem_my_pe(), count);
  std::exit(1);
}

template <class T>
void upload(T* to, const std::vector<T>& from) {
  check(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
}
template <class T>
std::vector<T> download(const T* from, std::size_t count) {
  std::vector<T> to(count);
  check(cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return to;
}

// Counts and prints what is not as it must be.
class Verdict {
 public:
  template <class T>
  void equal(const char* what, std::size_t index, T found, T wanted) {
    if (found == wanted) return;
    if (++wrong_ > 5) return;
    std::fprintf(stderr, "PE %d: %s[%zu] is %g, not %g\n", nvshmem_my_pe(), what, index,
                 static_cast<double>(found), static_cast<double>(wanted));
  }
  // The program's exit status; prints OK.
  int finish() const {
    if (wrong_ == 0) std::printf("OK\n");
    nvshmem_finalize();
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  int wrong_ = 0;
};

}  // namespace program
