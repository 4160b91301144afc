// Where the tests of NVSHMEM's names run: on the emulator, or on a GPU where nvcc compiles them.
//
//   Shared<int> good(1);                        // the host's memory, which kernels write, too
//   run("what it is", Kernel{good.get()}, 8);   // Kernel::operator() const is GDAKIT_DEVICE_ONLY
//   expect(good[0] == 1, "what it was");
//   expect(read(symmetric) == 5, "...");        // symmetric memory may lie on the GPU
#pragma once

#include <cstdio>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/base/annotate.h"
#if GDAKIT_NVCC
#include "nvshmem/nvshmem.h"
#include "nvshmem/nvshmemx.h"
#else
#include "nvshmem/emulate.h"
#endif

// Several programs share the checks out where they take long to compile: each has one part of them.
#if !defined(GDAKIT_TEST_PART)
#define GDAKIT_TEST_PART 0
#define GDAKIT_TEST_PARTS 1
#endif
#define GDAKIT_CHECK_IF_MINE(CHECK) \
  if constexpr (__COUNTER__ % kParts == kPart) CHECK<kPart>();

namespace where {

inline int failures = 0;

inline void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "PE %d: %s\n", nvshmem_my_pe(), what);
}

#if GDAKIT_NVCC

constexpr unsigned kThreads = 32;

template <class Kernel>
__global__ void call(Kernel kernel) {
  kernel();
}

template <class Kernel>
gdakit::Result<void> launch(const Kernel& kernel, unsigned threads) {
  call<<<1, threads>>>(kernel);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess) return gdakit::nvshmem::context("launch").check_device();
  return gdakit::Error(gdakit::Code::system, cudaGetErrorString(error));
}

__device__ inline unsigned thread_index() { return threadIdx.x; }

inline void copy(void* to, const void* from, std::size_t bytes) {
  expect(cudaMemcpy(to, from, bytes, cudaMemcpyDefault) == cudaSuccess, "cudaMemcpy");
}

inline void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  expect(cudaMallocManaged(&memory, bytes) == cudaSuccess, "cudaMallocManaged");
  return memory;
}
inline void release(void* memory) { cudaFree(memory); }

#else

constexpr unsigned kThreads = 8;  // a warp that is not full acts as one, too

template <class Kernel>
gdakit::Result<void> launch(const Kernel& kernel, unsigned threads) {
  return gdakit::nvshmem::emulate(kernel, {1, threads});
}

inline unsigned thread_index() { return gdakit::sim::current_thread()->thread_index; }

inline void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

inline void* allocate(std::size_t bytes) { return std::malloc(bytes); }
inline void release(void* memory) { std::free(memory); }

#endif

// A block is one warp for most types, which is quick. For a few it is two, with more elements than
// threads.
template <class T>
constexpr bool kIsWide = std::is_same_v<T, double> || std::is_same_v<T, unsigned char> ||
                         std::is_same_v<T, gdakit::nvshmem::Bits<128>>;
constexpr unsigned kTwoWarps = 64;
template <class T>
constexpr unsigned kThreadsOf = kIsWide<T> ? kTwoWarps : kThreads;
template <class T>
constexpr int kCountOf = kIsWide<T> ? 70 : 5;

// Expects that the kernel runs and the device reports nothing.
template <class Kernel>
void run(const char* what, const Kernel& kernel, unsigned threads = kThreads) {
  const gdakit::Result<void> done = launch(kernel, threads);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
  expect(bool(done), what);
}

// `count` zeros.
template <class T>
class Shared {
 public:
  explicit Shared(std::size_t count) : memory_(static_cast<T*>(allocate(count * sizeof(T)))) {
    std::memset(memory_, 0, count * sizeof(T));
  }
  ~Shared() { release(memory_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T* get() const { return memory_; }
  T operator[](std::size_t i) const { return memory_[i]; }

 private:
  T* memory_;
};

template <class T>
std::vector<T> read(const T* symmetric, std::size_t count) {
  std::vector<T> values(count);
  copy(values.data(), symmetric, count * sizeof(T));
  return values;
}
template <class T>
T read(const T* symmetric) {
  return read(symmetric, 1)[0];
}
template <class T>
void write(T* symmetric, const std::vector<T>& values) {
  copy(symmetric, values.data(), values.size() * sizeof(T));
}
template <class T>
void write(T* symmetric, const T& value) {
  copy(symmetric, &value, sizeof(T));
}

}  // namespace where
