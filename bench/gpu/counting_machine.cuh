// A CudaMachine that counts what the protocol asks of it, and one whose lanes never see each other.
#pragma once

#include "core/base/type_identity.h"
#include "device/cuda_machine.cuh"

namespace gdakit::bench {

// What one thread, or after summing a kernel, asked for.
struct Counts {
  unsigned long long atomics;  // read-modify-writes
  unsigned long long fences;   // fences, and the ones inside releasing stores and atomics
  unsigned long long loads;    // strong ones, which go to the L2 cache
  unsigned long long mmio;     // stores to a doorbell
};

class CountingMachine : public CudaMachine {
 public:
  using CudaMachine::CudaMachine;

  template <class Order, class T>
  __device__ T load(Order order, const T* from) {
    ++counts_.loads;
    return CudaMachine::load(order, from);
  }
  template <class Order, class T>
  __device__ void store(Order order, T* to, type_identity_t<T> value) {
    counts_.fences += kReleases<Order>;
    CudaMachine::store(order, to, value);
  }
  template <class Order, class T>
  __device__ T fetch_add(Order order, T* word, type_identity_t<T> value) {
    count_atomic<Order>();
    return CudaMachine::fetch_add(order, word, value);
  }
  template <class Order, class T>
  __device__ T fetch_xor(Order order, T* word, type_identity_t<T> value) {
    count_atomic<Order>();
    return CudaMachine::fetch_xor(order, word, value);
  }
  template <class Order, class T>
  __device__ T fetch_max(Order order, T* word, type_identity_t<T> value) {
    count_atomic<Order>();
    return CudaMachine::fetch_max(order, word, value);
  }
  template <class Order, class T>
  __device__ T exchange(Order order, T* word, type_identity_t<T> value) {
    count_atomic<Order>();
    return CudaMachine::exchange(order, word, value);
  }
  template <class Order, class T>
  __device__ T compare_exchange(Order order, T* word, type_identity_t<T> expected,
                                type_identity_t<T> desired) {
    count_atomic<Order>();
    return CudaMachine::compare_exchange(order, word, expected, desired);
  }
  template <class Order>
  __device__ void fence(Order order) {
    ++counts_.fences;
    CudaMachine::fence(order);
  }
  __device__ void store_mmio(std::uint64_t* to, std::uint64_t value) {
    ++counts_.mmio;
    CudaMachine::store_mmio(to, value);
  }

  // Adds what this thread counted to `sum`.
  __device__ void add_to(Counts* sum) const {
    atomicAdd(&sum->atomics, counts_.atomics);
    atomicAdd(&sum->fences, counts_.fences);
    atomicAdd(&sum->loads, counts_.loads);
    atomicAdd(&sum->mmio, counts_.mmio);
  }

 private:
  template <class Order>
  static constexpr unsigned kReleases =
      Order::kind == Kind::release || Order::kind == Kind::acq_rel ? 1 : 0;

  template <class Order>
  __device__ void count_atomic() {
    ++counts_.atomics;
    counts_.fences += kReleases<Order>;
  }

  Counts counts_{};
};

// Lanes that call together still post one by one, as where their code has diverged.
template <class M>
class Alone : public M {
 public:
  using M::M;
  __device__ LaneMask active_mask() const { return LaneMask{1} << this->lane(); }
};

}  // namespace gdakit::bench
