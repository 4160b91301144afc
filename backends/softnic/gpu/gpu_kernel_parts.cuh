// What the helper kernels share: the handshake of a launch with the host, and copies by several
// lanes.
#pragma once

#include <cuda/atomic>

#include "backends/softnic/gpu/gpu_batch.h"

namespace gdakit::softnic {

template <class T>
using InSystem = cuda::atomic_ref<T, cuda::thread_scope_system>;
template <class T>
using InGpu = cuda::atomic_ref<T, cuda::thread_scope_device>;

// The first thread to come asks the host whether the launch still counts; all go by its answer.
inline __device__ bool begin(const GpuLaunch& launch) {
  __shared__ std::uint32_t verdict;
  if (threadIdx.x == 0) {
    GpuGate& gate = *launch.gate;
    if (InGpu<std::uint32_t>(gate.tickets).fetch_add(1, cuda::memory_order_relaxed) == 0) {
      GpuControl& control = *launch.control;
      InSystem<std::uint32_t>(control.started).store(1, cuda::memory_order_relaxed);
      // Orders   `started`
      // before   the look at `cancel`,
      // for      the host, which cancels and then looks whether the launch has started.
      cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_system);
      const bool cancelled =
          InSystem<std::uint32_t>(control.cancel).load(cuda::memory_order_relaxed) != 0;
      verdict = cancelled ? kVerdictCancelled : kVerdictGo;
      InSystem<std::uint32_t>(control.verdict).store(verdict, cuda::memory_order_relaxed);
      InGpu<std::uint32_t>(gate.verdict).store(verdict, cuda::memory_order_release);
    } else {
      do {
        verdict = InGpu<std::uint32_t>(gate.verdict).load(cuda::memory_order_acquire);
      } while (verdict == 0);
    }
  }
  __syncthreads();
  return verdict == kVerdictGo;
}

// The next of the launch's pieces of work that nobody has taken.
inline __device__ std::uint64_t take(const GpuLaunch& launch) {
  return InGpu<std::uint64_t>(launch.gate->next).fetch_add(1, cuda::memory_order_relaxed);
}

// `count` pieces of work are done, and this thread comes after all their stores.
inline __device__ void finish(const GpuLaunch& launch, std::uint64_t count) {
  InGpu<std::uint64_t> done(launch.gate->done);
  const bool all = count == launch.work ||
                   done.fetch_add(count, cuda::memory_order_acq_rel) + count == launch.work;
  if (!all) return;
  // Orders   all stores of the launch
  // before   `finished`,
  // for      the host, which then lets others go on that rely on them.
  InSystem<std::uint32_t>(launch.control->finished).store(1, cuda::memory_order_release);
}

// The last block to leave makes the gate fit for the next launch, then gives it back.
inline __device__ void leave(const GpuLaunch& launch) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  InGpu<std::uint32_t> left(launch.gate->left);
  if (left.fetch_add(1, cuda::memory_order_acq_rel) + 1 != gridDim.x) return;
  *launch.gate = GpuGate{};
  InSystem<std::uint32_t>(launch.control->left).store(1, cuda::memory_order_release);
}

template <class Word>
inline __device__ Word* as(std::uint64_t address) {
  return reinterpret_cast<Word*>(address);
}

inline __device__ void store_word(std::uint64_t to, std::uint64_t value, std::uint32_t size) {
  const auto store = [to](auto word) {
    InSystem<decltype(word)>(*as<decltype(word)>(to)).store(word, cuda::memory_order_relaxed);
  };
  switch (size) {
    case 1: store(static_cast<std::uint8_t>(value)); break;
    case 2: store(static_cast<std::uint16_t>(value)); break;
    case 4: store(static_cast<std::uint32_t>(value)); break;
    default: store(value); break;
  }
}

template <class Vector>
inline __device__ void copy_vectors(std::uint64_t to, std::uint64_t from, std::uint64_t size,
                                    unsigned lane, unsigned lanes) {
  constexpr unsigned kAhead = 4;
  const std::uint64_t count = size / sizeof(Vector);
  const Vector* const source = as<const Vector>(from);
  Vector* const target = as<Vector>(to);
  std::uint64_t at = lane;
  for (; at + (kAhead - 1) * lanes < count; at += kAhead * lanes) {
    Vector held[kAhead];
#pragma unroll
    for (unsigned i = 0; i < kAhead; ++i) held[i] = __ldcg(source + at + i * lanes);
#pragma unroll
    for (unsigned i = 0; i < kAhead; ++i) __stcg(target + at + i * lanes, held[i]);
  }
  for (; at < count; at += lanes) __stcg(target + at, __ldcg(source + at));
}

inline __device__ void copy_single_bytes(std::uint64_t to, std::uint64_t from, std::uint64_t size,
                                         unsigned lane, unsigned lanes) {
  copy_vectors<unsigned char>(to, from, size, lane, lanes);
}

// In vectors as long as both sides' alignment allows.
template <class Vector>
inline __device__ bool copy_aligned(std::uint64_t to, std::uint64_t from, std::uint64_t size,
                                    unsigned lane, unsigned lanes) {
  if ((to ^ from) % sizeof(Vector) != 0) return false;
  std::uint64_t head = (sizeof(Vector) - to % sizeof(Vector)) % sizeof(Vector);
  if (head > size) head = size;
  const std::uint64_t body = (size - head) / sizeof(Vector) * sizeof(Vector);
  copy_single_bytes(to, from, head, lane, lanes);
  copy_vectors<Vector>(to + head, from + head, body, lane, lanes);
  copy_single_bytes(to + head + body, from + head + body, size - head - body, lane, lanes);
  return true;
}

inline __device__ void copy_any(std::uint64_t to, std::uint64_t from, std::uint64_t size,
                                unsigned lane, unsigned lanes) {
  if (copy_aligned<uint4>(to, from, size, lane, lanes)) return;
  if (copy_aligned<unsigned long long>(to, from, size, lane, lanes)) return;
  if (copy_aligned<unsigned>(to, from, size, lane, lanes)) return;
  copy_single_bytes(to, from, size, lane, lanes);
}

inline __device__ std::uint64_t load_word(std::uint64_t from, std::uint32_t size) {
  if (size == 8 && from % 8 == 0) return __ldcg(as<const unsigned long long>(from));
  if (size == 4 && from % 4 == 0) return __ldcg(as<const unsigned>(from));
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    value |= std::uint64_t{__ldcg(as<const unsigned char>(from + i))} << (8 * i);
  }
  return value;
}

inline __device__ bool overlap(std::uint64_t one, std::uint64_t one_size, std::uint64_t other,
                               std::uint64_t other_size) {
  return one < other + other_size && other < one + one_size;
}

}  // namespace gdakit::softnic
