// HostThreadMachine: a Machine (device/machine.h) that is a host thread by itself, a warp and a
// block of one. It works on memory that the host reaches in place.
#pragma once

#include <chrono>
#include <cstring>
#include <thread>

#include "core/base/idle_sleep.h"
#include "core/base/progress_engine.h"
#include "core/base/wait_clock.h"
#include "device/lane.h"
#include "sim/host_atomics.h"

namespace gdakit {

class HostThreadMachine {
 public:
  // `progress` may be null. Both outlive it.
  HostThreadMachine(const WaitClock& clock, ProgressEngine* progress)
      : clock_(&clock), progress_(progress) {}

  // A new wait: its first turns are quick.
  void begin_wait() { turns_ = 0; }

  std::uint32_t thread_index() const { return 0; }
  std::uint32_t block_index() const { return 0; }
  std::uint32_t block_threads() const { return 1; }
  std::uint32_t grid_blocks() const { return 1; }
  std::uint32_t lane() const { return 0; }
  std::uint32_t warp() const { return 0; }

  template <class Order, class T>
  T load(Order, const T* from) {
    return sim::HostAtomics::load<Order>(from);
  }
  template <class Order, class T>
  void store(Order, T* to, type_identity_t<T> value) {
    sim::HostAtomics::store<Order>(to, value);
  }
  template <class Order, class T>
  T fetch_add(Order, T* word, type_identity_t<T> value) {
    return sim::HostAtomics::fetch_add<Order>(word, value);
  }
  template <class Order, class T>
  T fetch_or(Order, T* word, type_identity_t<T> value) {
    return sim::HostAtomics::fetch_or<Order>(word, value);
  }
  template <class Order, class T>
  T fetch_and(Order, T* word, type_identity_t<T> value) {
    return sim::HostAtomics::fetch_and<Order>(word, value);
  }
  template <class Order, class T>
  T fetch_xor(Order, T* word, type_identity_t<T> value) {
    return sim::HostAtomics::fetch_xor<Order>(word, value);
  }
  template <class Order, class T>
  T fetch_max(Order, T* word, type_identity_t<T> value) {
    return sim::HostAtomics::fetch_max<Order>(word, value);
  }
  template <class Order, class T>
  T exchange(Order, T* word, type_identity_t<T> value) {
    return sim::HostAtomics::exchange<Order>(word, value);
  }
  template <class Order, class T>
  T compare_exchange(Order, T* word, type_identity_t<T> expected, type_identity_t<T> desired) {
    return sim::HostAtomics::compare_exchange<Order>(word, expected, desired);
  }
  template <class Order>
  void fence(Order) {
    sim::HostAtomics::fence<Order>();
  }

  template <class T>
  T load_weak(const T* from) {
    return *from;
  }
  template <class T>
  void store_weak(T* to, const type_identity_t<T>& value) {
    *to = value;
  }
  // Released once more, because ThreadSanitizer does not understand the fence before it.
  void store_mmio(std::uint64_t* to, std::uint64_t value) {
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
  }
  void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  void copy_in(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); }

  LaneMask active_mask() { return 1; }
  template <class T>
  T shuffle(LaneMask, T value, std::uint32_t) {
    return value;
  }
  LaneMask ballot(LaneMask mask, bool predicate) { return predicate ? mask : 0; }
  template <class T>
  LaneMask match_any(LaneMask mask, T) {
    return mask;
  }
  void sync_warp(LaneMask) {}
  void sync_block() {}
  std::uint64_t broadcast_block(std::uint64_t value) { return value; }
  bool any_block(bool predicate) { return predicate; }

  std::uint64_t clock_ns() { return clock_->now_ns(); }

  // Does the NIC's work where it may, and gives the core away ever longer where there is none.
  void spin(Site) {
    if (progress_ != nullptr && progress_->progress()) return begin_wait();
    if (++turns_ == kBusyTurns) idle_since_ = std::chrono::steady_clock::now();
    if (turns_ < kBusyTurns) return std::this_thread::yield();
    std::this_thread::sleep_for(idle_sleep(std::chrono::steady_clock::now() - idle_since_));
  }

 private:
  static constexpr int kBusyTurns = 1000;

  const WaitClock* clock_;
  ProgressEngine* progress_;
  int turns_ = 0;
  std::chrono::steady_clock::time_point idle_since_;
};

}  // namespace gdakit
