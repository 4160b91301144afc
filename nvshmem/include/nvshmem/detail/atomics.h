// Names of atomics: add, inc, and, or, xor, set, and those that fetch.
#pragma once

#include "nvshmem/detail/device_or_host.h"
#include "nvshmem/detail/types.h"

namespace gdakit::nvshmem {

template <class T, class OnDevice>
GDAKIT_HOST_DEVICE void change(const char* call, atomics::Op op, T* dest, T value, int pe,
                               OnDevice&& device) {
  here(call, device, [&](auto calls) { done(call, calls.atomic(op, dest, value, pe)); });
}
template <class T, class OnDevice>
GDAKIT_HOST_DEVICE T exchange(const char* call, atomics::Op op, T* dest, T value, int pe,
                              OnDevice&& device) {
  return here(call, device,
              [&](auto calls) { return done(call, calls.atomic_fetch(op, dest, value, pe)); });
}

}  // namespace gdakit::nvshmem

extern "C" {

#define GDAKIT_NVSHMEM_CHANGE(NAME, TYPE, CALL, OP)                                              \
  GDAKIT_NVSHMEM_CALL void nvshmem_##NAME##_atomic_##CALL(TYPE* dest, TYPE value, int pe) {      \
    gdakit::nvshmem::change<TYPE>("nvshmem_" #NAME "_atomic_" #CALL, gdakit::atomics::Op::OP,    \
                                  dest, value, pe,                                               \
                                  [&](auto& thread) { thread.atomic_##CALL(dest, value, pe); }); \
  }
#define GDAKIT_NVSHMEM_EXCHANGE(NAME, TYPE, CALL, OP)                                       \
  GDAKIT_NVSHMEM_CALL TYPE nvshmem_##NAME##_atomic_##CALL(TYPE* dest, TYPE value, int pe) { \
    return gdakit::nvshmem::exchange<TYPE>(                                                 \
        "nvshmem_" #NAME "_atomic_" #CALL, gdakit::atomics::Op::OP, dest, value, pe,        \
        [&](auto& thread) { return thread.atomic_##CALL(dest, value, pe); });               \
  }

#define GDAKIT_NVSHMEM_ADDING(NAME, TYPE)                                                          \
  GDAKIT_NVSHMEM_CHANGE(NAME, TYPE, add, add)                                                      \
  GDAKIT_NVSHMEM_EXCHANGE(NAME, TYPE, fetch_add, add)                                              \
  GDAKIT_NVSHMEM_CALL void nvshmem_##NAME##_atomic_inc(TYPE* dest, int pe) {                       \
    nvshmem_##NAME##_atomic_add(dest, static_cast<TYPE>(1), pe);                                   \
  }                                                                                                \
  GDAKIT_NVSHMEM_CALL TYPE nvshmem_##NAME##_atomic_fetch_inc(TYPE* dest, int pe) {                 \
    return nvshmem_##NAME##_atomic_fetch_add(dest, static_cast<TYPE>(1), pe);                      \
  }                                                                                                \
  GDAKIT_NVSHMEM_CALL TYPE nvshmem_##NAME##_atomic_compare_swap(TYPE* dest, TYPE cond, TYPE value, \
                                                                int pe) {                          \
    constexpr const char* kCall = "nvshmem_" #NAME "_atomic_compare_swap";                         \
    return gdakit::nvshmem::here(                                                                  \
        kCall, [&](auto& thread) { return thread.atomic_compare_swap(dest, cond, value, pe); },    \
        [&](auto calls) {                                                                          \
          return gdakit::nvshmem::done(kCall, calls.atomic_compare_swap(dest, cond, value, pe));   \
        });                                                                                        \
  }
GDAKIT_NVSHMEM_ATOMIC_TYPES(GDAKIT_NVSHMEM_ADDING)

#define GDAKIT_NVSHMEM_SETTING(NAME, TYPE)                                                         \
  GDAKIT_NVSHMEM_CHANGE(NAME, TYPE, set, set)                                                      \
  GDAKIT_NVSHMEM_EXCHANGE(NAME, TYPE, swap, set)                                                   \
  GDAKIT_NVSHMEM_CALL TYPE nvshmem_##NAME##_atomic_fetch(const TYPE* source, int pe) {             \
    constexpr const char* kCall = "nvshmem_" #NAME "_atomic_fetch";                                \
    return gdakit::nvshmem::here(                                                                  \
        kCall, [&](auto& thread) { return thread.atomic_fetch(source, pe); },                      \
        [&](auto calls) { return gdakit::nvshmem::done(kCall, calls.atomic_fetch(source, pe)); }); \
  }
GDAKIT_NVSHMEM_SET_TYPES(GDAKIT_NVSHMEM_SETTING)

#define GDAKIT_NVSHMEM_BITS(NAME, TYPE)                   \
  GDAKIT_NVSHMEM_CHANGE(NAME, TYPE, and, bit_and)         \
  GDAKIT_NVSHMEM_CHANGE(NAME, TYPE, or, bit_or)           \
  GDAKIT_NVSHMEM_CHANGE(NAME, TYPE, xor, bit_xor)         \
  GDAKIT_NVSHMEM_EXCHANGE(NAME, TYPE, fetch_and, bit_and) \
  GDAKIT_NVSHMEM_EXCHANGE(NAME, TYPE, fetch_or, bit_or)   \
  GDAKIT_NVSHMEM_EXCHANGE(NAME, TYPE, fetch_xor, bit_xor)
GDAKIT_NVSHMEM_BIT_TYPES(GDAKIT_NVSHMEM_BITS)

}  // extern "C"
