// The protocol as device code: compiled by nvcc for every architecture, without relaxed constexpr
// rules and with warnings as errors. The machine below is only for that; nothing here runs.
#include <type_traits>

#include "device/pe.h"

namespace gdakit::compile_check {

class CompileMachine {
 public:
  __device__ std::uint32_t thread_index() const { return threadIdx.x; }
  __device__ std::uint32_t block_index() const { return blockIdx.x; }
  __device__ std::uint32_t block_threads() const { return blockDim.x; }
  __device__ std::uint32_t grid_blocks() const { return gridDim.x; }
  __device__ std::uint32_t lane() const { return threadIdx.x % kWarpSize; }
  __device__ std::uint32_t warp() const { return threadIdx.x / kWarpSize; }

  template <class Order, class T>
  __device__ T load(Order, const T* word) {
    return *word;
  }
  template <class Order, class T>
  __device__ void store(Order, T* word, std::type_identity_t<T> value) {
    *word = value;
  }
  template <class Order, class T>
  __device__ T fetch_add(Order, T* word, std::type_identity_t<T> value) {
    return replace(word, static_cast<T>(*word + value));
  }
  template <class Order, class T>
  __device__ T fetch_xor(Order, T* word, std::type_identity_t<T> value) {
    return replace(word, static_cast<T>(*word ^ value));
  }
  template <class Order, class T>
  __device__ T fetch_max(Order, T* word, std::type_identity_t<T> value) {
    return replace(word, *word < value ? value : *word);
  }
  template <class Order, class T>
  __device__ T compare_exchange(Order, T* word, std::type_identity_t<T> expected,
                                std::type_identity_t<T> desired) {
    return replace(word, *word == expected ? desired : *word);
  }
  template <class Order>
  __device__ void fence(Order) {}

  template <class T>
  __device__ T load_weak(const T* from) {
    return *from;
  }
  template <class T>
  __device__ void store_weak(T* to, std::type_identity_t<T> value) {
    *to = value;
  }
  __device__ void store_weak(format::Segment* slot, const format::Segment& segment) {
    *slot = segment;
  }
  __device__ void store_mmio(std::uint64_t* doorbell, std::uint64_t value) { *doorbell = value; }
  __device__ void copy(void* to, const void* from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
    }
  }
  __device__ LaneMask active_mask() { return __activemask(); }
  template <class T>
  __device__ T shuffle(LaneMask mask, T value, std::uint32_t lane) {
    return __shfl_sync(mask, value, lane);
  }
  __device__ LaneMask ballot(LaneMask mask, bool predicate) {
    return __ballot_sync(mask, predicate);
  }
  __device__ LaneMask match_any(LaneMask mask, std::uint64_t value) {
    return __match_any_sync(mask, value);
  }
  __device__ void sync_warp(LaneMask mask) { __syncwarp(mask); }
  __device__ void sync_block() { __syncthreads(); }
  __device__ std::uint64_t broadcast_block(std::uint64_t value) {
    __shared__ std::uint64_t shared;
    if (threadIdx.x == 0) shared = value;
    __syncthreads();
    const std::uint64_t given = shared;
    __syncthreads();
    return given;
  }
  __device__ std::uint64_t clock_ns() { return clock64(); }
  __device__ void spin(Site) {}

 private:
  template <class T>
  __device__ static T replace(T* word, T value) {
    const T old = *word;
    *word = value;
    return old;
  }
};

__global__ void transfers(DeviceContext context, int* data, std::uint64_t* word) {
  CompileMachine m;
  Pe<CompileMachine> pe(m, context);
  pe.put(data, data, 3, 1);
  pe.warp().put_nbi(data, data, 3, 1);
  pe.block().get(data, data, 4, 1);
  pe.put_value(data, pe.get_value(data, 1), 1);
  pe.put_signal(data, data, 3, word, 1, SignalOp::set, 1);
  pe.block().put_signal_nbi(data, data, 3, word, 1, SignalOp::add, 1);
  pe.exclusively_on(0).put_nbi(data, data, 3, 1, Batch::more);
}

__global__ void words(DeviceContext context, int* data, std::uint64_t* word, double* real) {
  CompileMachine m;
  Pe<CompileMachine> pe(m, context);
  pe.atomic_or(data, 1, 1);
  pe.atomic_set(real, pe.atomic_fetch(real, 1), 1);
  pe.atomic_add(word, pe.atomic_compare_swap(word, 1, 2, 1), 1);
  pe.wait_until(word, Compare::ge, 1);
  pe.quiet();
  pe.block().barrier_all();
}

}  // namespace gdakit::compile_check
