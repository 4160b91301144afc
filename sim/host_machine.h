// HostMachine: an emulated GPU thread on a CPU core, with the core's own atomics. Models Machine.
//
// Loads, stores and read-modify-writes are the bare atomic instructions; only spin and the group
// operations cost more. Scopes make no difference here: the host's memory is coherent for
// everybody. What a fence or its scope is for, the weak-memory simulator checks.
//
// In a ThreadSanitizer build every access is at least acquire or release, because ThreadSanitizer
// does not understand fences.
#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/base/annotate.h"
#include "core/format/wqe.h"
#include "device/machine.h"
#include "device/order.h"
#include "sim/block.h"
#include "sim/scheduler.h"
#include "sim/thread.h"
#include "sim/warp.h"

namespace gdakit::sim {

// What a strong access may be made of: 1, 2, 4 or 8 bytes.
template <class T>
concept AccessWord = std::is_trivially_copyable_v<T> && std::has_single_bit(sizeof(T)) &&
                     sizeof(T) <= 8;

// What a read-modify-write may be made of: an integer of 4 or 8 bytes, or for exchanges anything of
// that size.
template <class T>
concept RmwWord = AccessWord<T> && sizeof(T) >= 4;
template <class T>
concept RmwInteger = RmwWord<T> && std::is_integral_v<T>;

// What lanes can hand to each other: at most 8 bytes.
template <class T>
concept LaneValue = std::is_trivially_copyable_v<T> && sizeof(T) <= 8;

class HostMachine {
 public:
  explicit HostMachine(Thread& thread) : thread_(&thread) {}

  std::uint32_t thread_index() const { return thread_->thread_index; }
  std::uint32_t block_index() const { return thread_->block_index; }
  std::uint32_t block_threads() const { return thread_->shape.threads; }
  std::uint32_t grid_blocks() const { return thread_->shape.blocks; }
  std::uint32_t lane() const { return thread_->lane(); }
  std::uint32_t warp() const { return thread_->warp_index(); }

  // The lanes of this warp that exist: all but in the last warp of a block.
  LaneMask warp_mask() const { return thread_->warp->lanes(); }

  template <class Order, AccessWord T>
  T load(Order, const T* from) {
    static_assert(Order::kind == Kind::relaxed || Order::kind == Kind::acquire);
    T value;
    __atomic_load(from, &value, kThreadSanitizer ? __ATOMIC_ACQUIRE : memory_order<Order>());
    return value;
  }

  template <class Order, AccessWord T>
  void store(Order, T* to, std::type_identity_t<T> value) {
    static_assert(Order::kind == Kind::relaxed || Order::kind == Kind::release);
    thread_->worked = true;
    __atomic_store(to, &value, kThreadSanitizer ? __ATOMIC_RELEASE : memory_order<Order>());
  }

  template <class Order, RmwInteger T>
  T fetch_add(Order, T* word, std::type_identity_t<T> value) {
    return __atomic_fetch_add(word, value, rmw_order<Order>());
  }

  template <class Order, RmwInteger T>
  T fetch_or(Order, T* word, std::type_identity_t<T> value) {
    return __atomic_fetch_or(word, value, rmw_order<Order>());
  }

  template <class Order, RmwInteger T>
  T fetch_and(Order, T* word, std::type_identity_t<T> value) {
    return __atomic_fetch_and(word, value, rmw_order<Order>());
  }

  template <class Order, RmwInteger T>
  T fetch_xor(Order, T* word, std::type_identity_t<T> value) {
    return __atomic_fetch_xor(word, value, rmw_order<Order>());
  }

  // Writes even where the old value is the greater one, so that its order holds in any case.
  template <class Order, RmwInteger T>
  T fetch_max(Order, T* word, std::type_identity_t<T> value) {
    T old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &old, old < value ? value : old, true,
                                        rmw_order<Order>(), __ATOMIC_RELAXED)) {
    }
    return old;
  }

  template <class Order, RmwWord T>
  T exchange(Order, T* word, std::type_identity_t<T> value) {
    T old;
    __atomic_exchange(word, &value, &old, rmw_order<Order>());
    return old;
  }

  // Returns the old value; the exchange took place if its bytes equal those of `expected`.
  template <class Order, RmwWord T>
  T compare_exchange(Order, T* word, std::type_identity_t<T> expected,
                     std::type_identity_t<T> desired) {
    __atomic_compare_exchange(word, &expected, &desired, false, rmw_order<Order>(),
                              failure_order<Order>());
    return expected;
  }

  template <class Order>
  void fence(Order) {
    if constexpr (kThreadSanitizer) {
      fence_by_rmw();
    } else {
      std::atomic_thread_fence(static_cast<std::memory_order>(memory_order<Order>()));
    }
  }

  void store_weak(format::Segment* to, const format::Segment& segment) {
    thread_->worked = true;
    *to = segment;
  }

  // Plain accesses to data that something else orders.
  template <AccessWord T>
  T load_weak(const T* from) {
    T value;
    copy(&value, from, sizeof(T));
    return value;
  }
  template <AccessWord T>
  void store_weak(T* to, std::type_identity_t<T> value) {
    copy(to, &value, sizeof(T));
  }

  // A store to a device orders nothing by itself; fences before it do. Here the doorbell page is
  // ordinary memory, and the NIC is a thread that reads it with acquire: release is what pairs with
  // that in the language's terms. On x86 it is the same instruction.
  void store_mmio(std::uint64_t* to, std::uint64_t value) {
    thread_->worked = true;
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
  }

  void copy(void* to, const void* from, std::size_t bytes) {
    thread_->worked = true;
    if constexpr (kThreadSanitizer) {
      copy_unknown_size(to, from, bytes);
    } else {
      std::memcpy(to, from, bytes);
    }
  }

  // Call sites are told apart by file and line.
  LaneMask active_mask(const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE()) {
    if (thread_->warp->live() == thread_->lane_bit()) return thread_->lane_bit();
    return thread_->warp->active_mask(*thread_, {file, line});
  }

  template <LaneValue T>
  T shuffle(LaneMask mask, T value, std::uint32_t source) {
    if (mask == thread_->lane_bit() && source == lane()) return value;
    const std::uint64_t raw = thread_->warp->shuffle(*thread_, mask, to_raw(value), source);
    std::memcpy(&value, &raw, sizeof(T));
    return value;
  }

  LaneMask ballot(LaneMask mask, bool predicate) {
    if (mask == thread_->lane_bit()) return predicate ? mask : 0;
    return thread_->warp->ballot(*thread_, mask, predicate);
  }

  // Values are compared by their bytes.
  template <LaneValue T>
  LaneMask match_any(LaneMask mask, T value) {
    if (mask == thread_->lane_bit()) return mask;
    return thread_->warp->match_any(*thread_, mask, to_raw(value));
  }

  void sync_warp(LaneMask mask) {
    if (mask == thread_->lane_bit()) return;
    thread_->warp->sync(*thread_, mask);
  }

  void sync_block() { thread_->block->sync(*thread_); }

  std::uint64_t broadcast_block(std::uint64_t value) {
    if (thread_index() == 0) thread_->block->set_shared_word(value);
    sync_block();
    const std::uint64_t given = thread_->block->shared_word();
    sync_block();  // before the next broadcast
    return given;
  }

  std::uint64_t clock_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }

  void spin(Site) { thread_->scheduler->yield(*thread_, Reason::spin); }

 private:
  template <class Order>
  static constexpr int memory_order() {
    switch (Order::kind) {
      case Kind::relaxed: return __ATOMIC_RELAXED;
      case Kind::acquire: return __ATOMIC_ACQUIRE;
      case Kind::release: return __ATOMIC_RELEASE;
      case Kind::acq_rel: return __ATOMIC_ACQ_REL;
    }
    return __ATOMIC_SEQ_CST;
  }

  template <class Order>
  static constexpr int rmw_order() {
    return kThreadSanitizer ? __ATOMIC_ACQ_REL : memory_order<Order>();
  }

  // A compare-and-exchange that fails stores nothing, so it releases nothing.
  template <class Order>
  static constexpr int failure_order() {
    const int order = rmw_order<Order>();
    return order == __ATOMIC_ACQ_REL || order == __ATOMIC_ACQUIRE ? __ATOMIC_ACQUIRE
                                                                  : __ATOMIC_RELAXED;
  }

  // Every fence comes after the fences before it, of whatever kind: they share one word.
  static void fence_by_rmw() {
    static std::uint32_t word = 0;
    __atomic_fetch_add(&word, 0, __ATOMIC_ACQ_REL);
  }

  // g++ turns a memcpy of known size into moves of which it does not tell ThreadSanitizer.
  static void copy_unknown_size(void* to, const void* from, std::size_t bytes);

  template <class T>
  static std::uint64_t to_raw(const T& value) {
    std::uint64_t raw = 0;
    std::memcpy(&raw, &value, sizeof(T));
    return raw;
  }

  Thread* thread_;
};

static_assert(MachineFor<HostMachine, order::RelaxedSystem>);

}  // namespace gdakit::sim
