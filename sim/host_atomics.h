// The atomic instructions of a CPU core, by the kind of an order type. Scopes make no difference:
// the host's memory is coherent for everybody.
//
// In a ThreadSanitizer build every access is at least acquire or release, because ThreadSanitizer
// does not understand fences.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "core/base/annotate.h"
#include "core/base/bits.h"
#include "core/base/type_identity.h"
#include "device/cpu_memory_order.h"
#include "device/machine.h"

namespace gdakit::sim {

// What a strong access may be made of: 1, 2, 4 or 8 bytes.
template <class T>
inline constexpr bool is_access_word = is_power_of_two(sizeof(T)) &&
                                       sizeof(T) <= 8 && std::is_trivially_copyable_v<T>;

// What a read-modify-write may be made of: an integer of 4 or 8 bytes, or for exchanges anything of
// that size.
template <class T>
inline constexpr bool is_rmw_word = is_access_word<T> && sizeof(T) >= 4;

// What an access returns: `Returned` where it may be made of T, else there is no such function.
template <class T, class Returned = T>
using IfAccessWord = std::enable_if_t<is_access_word<T>, Returned>;
template <class T, class Returned = T>
using IfRmwWord = std::enable_if_t<is_rmw_word<T>, Returned>;
template <class T, class Returned = T>
using IfRmwInteger = std::enable_if_t<is_rmw_word<T> && std::is_integral_v<T>, Returned>;

struct HostAtomics {
  template <class Order, class T>
  static IfAccessWord<T> load(const T* from) {
    static_assert(Order::kind == Kind::relaxed || Order::kind == Kind::acquire);
    T value;
    __atomic_load(from, &value,
                  kThreadSanitizer ? __ATOMIC_ACQUIRE : cpu_memory_order(Order::kind));
    return value;
  }

  template <class Order, class T>
  static IfAccessWord<T, void> store(T* to, type_identity_t<T> value) {
    static_assert(Order::kind == Kind::relaxed || Order::kind == Kind::release);
    __atomic_store(to, &value, kThreadSanitizer ? __ATOMIC_RELEASE : cpu_memory_order(Order::kind));
  }

  template <class Order, class T>
  static IfRmwInteger<T> fetch_add(T* word, type_identity_t<T> value) {
    return __atomic_fetch_add(word, value, rmw_order<Order>());
  }

  template <class Order, class T>
  static IfRmwInteger<T> fetch_or(T* word, type_identity_t<T> value) {
    return __atomic_fetch_or(word, value, rmw_order<Order>());
  }

  template <class Order, class T>
  static IfRmwInteger<T> fetch_and(T* word, type_identity_t<T> value) {
    return __atomic_fetch_and(word, value, rmw_order<Order>());
  }

  template <class Order, class T>
  static IfRmwInteger<T> fetch_xor(T* word, type_identity_t<T> value) {
    return __atomic_fetch_xor(word, value, rmw_order<Order>());
  }

  // Writes even where the old value is the greater one, so that its order holds in any case.
  template <class Order, class T>
  static IfRmwInteger<T> fetch_max(T* word, type_identity_t<T> value) {
    T old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &old, old < value ? value : old, true,
                                        rmw_order<Order>(), __ATOMIC_RELAXED)) {
    }
    return old;
  }

  template <class Order, class T>
  static IfRmwWord<T> exchange(T* word, type_identity_t<T> value) {
    T old;
    __atomic_exchange(word, &value, &old, rmw_order<Order>());
    return old;
  }

  // Returns the old value; the exchange took place if its bytes equal those of `expected`.
  template <class Order, class T>
  static IfRmwWord<T> compare_exchange(T* word, type_identity_t<T> expected,
                                       type_identity_t<T> desired) {
    __atomic_compare_exchange(word, &expected, &desired, false, rmw_order<Order>(),
                              failure_order<Order>());
    return expected;
  }

  template <class Order>
  static void fence() {
    if constexpr (kThreadSanitizer) {
      fence_by_rmw();
    } else {
      std::atomic_thread_fence(static_cast<std::memory_order>(cpu_memory_order(Order::kind)));
    }
  }

 private:
  template <class Order>
  static constexpr int rmw_order() {
    static_assert(Order::kind != Kind::sc, "fences alone are sc");
    return kThreadSanitizer ? __ATOMIC_ACQ_REL : cpu_memory_order(Order::kind);
  }

  // A compare-and-exchange that fails stores nothing, so it releases nothing.
  template <class Order>
  static constexpr int failure_order() {
    const int order = rmw_order<Order>();
    return order == __ATOMIC_ACQ_REL || order == __ATOMIC_ACQUIRE ? __ATOMIC_ACQUIRE
                                                                  : __ATOMIC_RELAXED;
  }

  // Every fence comes after the fences before it, of whatever kind: they share one word. That is
  // more than sc asks for.
  static void fence_by_rmw() {
    static std::uint32_t word = 0;
    __atomic_fetch_add(&word, 0, __ATOMIC_ACQ_REL);
  }
};

}  // namespace gdakit::sim
