// The types that NVSHMEM's names are made of, and the only place where a list makes names: each
// list calls ITEM(name, type) for its types.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/float16.h"
#include "host_calls/call_place.h"
// Host files of a program for a GPU have CUDA's types, too.
#if GDAKIT_NVCC || __has_include(<cuda_fp16.h>)
#include "nvshmem/detail/half.cuh"
#else
namespace gdakit::nvshmem {

using half_type = Half;
using bfloat16_type = BFloat16;

}  // namespace gdakit::nvshmem
#endif

namespace gdakit::nvshmem {

// How reductions know T, be it CUDA's.
template <class T>
GDAKIT_HOST_DEVICE constexpr ElementType element_of() {
  if constexpr (std::is_same_v<T, half_type>) {
    return ElementType::half;
  } else if constexpr (std::is_same_v<T, bfloat16_type>) {
    return ElementType::bfloat16;
  } else {
    return element_type<T>();
  }
}

// What a name with a number of bits moves.
template <int kBits>
struct Bits {
  static_assert(kBits == 8 || kBits == 16 || kBits == 32 || kBits == 64 || kBits == 128);
  alignas(kBits / 8) unsigned char bytes[kBits / 8];
};

}  // namespace gdakit::nvshmem

// Point-to-point operations and collectives that move data.
#define GDAKIT_NVSHMEM_TYPES(ITEM) \
  GDAKIT_NVSHMEM_CLASSES(ITEM)     \
  GDAKIT_NVSHMEM_NUMBERS(ITEM)

#define GDAKIT_NVSHMEM_CLASSES(ITEM)             \
  ITEM(bfloat16, gdakit::nvshmem::bfloat16_type) \
  ITEM(half, gdakit::nvshmem::half_type)

#define GDAKIT_NVSHMEM_NUMBERS(ITEM)  \
  GDAKIT_NVSHMEM_SUMMED_NUMBERS(ITEM) \
  ITEM(ptrdiff, ptrdiff_t)

// NVSHMEM's own lists, which programs call with macros of theirs, and what such macros begin with.
#define NVSHMEMI_REPT_FOR_STANDARD_RMA_TYPES GDAKIT_NVSHMEM_TYPES
#define NVSHMEMI_REPT_FOR_WAIT_TYPES GDAKIT_NVSHMEM_WAIT_TYPES
#define NVSHMEMI_HOSTDEVICE_PREFIX GDAKIT_HOST_DEVICE

// Sums, products, minima and maxima.
#define GDAKIT_NVSHMEM_SUMMED_TYPES(ITEM) \
  GDAKIT_NVSHMEM_CLASSES(ITEM)            \
  GDAKIT_NVSHMEM_SUMMED_NUMBERS(ITEM)

#define GDAKIT_NVSHMEM_SUMMED_NUMBERS(ITEM) \
  ITEM(float, float)                        \
  ITEM(double, double)                      \
  ITEM(char, char)                          \
  ITEM(schar, signed char)                  \
  ITEM(short, short)                        \
  ITEM(int, int)                            \
  ITEM(long, long)                          \
  ITEM(longlong, long long)                 \
  ITEM(int8, int8_t)                        \
  ITEM(int16, int16_t)                      \
  ITEM(int32, int32_t)                      \
  ITEM(int64, int64_t)                      \
  ITEM(uchar, unsigned char)                \
  ITEM(ushort, unsigned short)              \
  ITEM(uint, unsigned int)                  \
  ITEM(ulong, unsigned long)                \
  ITEM(ulonglong, unsigned long long)       \
  ITEM(uint8, uint8_t)                      \
  ITEM(uint16, uint16_t)                    \
  ITEM(uint32, uint32_t)                    \
  ITEM(uint64, uint64_t)                    \
  ITEM(size, size_t)

// Bitwise reductions.
#define GDAKIT_NVSHMEM_BITWISE_TYPES(ITEM) \
  ITEM(uchar, unsigned char)               \
  ITEM(ushort, unsigned short)             \
  ITEM(uint, unsigned int)                 \
  ITEM(ulong, unsigned long)               \
  ITEM(ulonglong, unsigned long long)      \
  ITEM(int8, int8_t)                       \
  ITEM(int16, int16_t)                     \
  ITEM(int32, int32_t)                     \
  ITEM(int64, int64_t)                     \
  ITEM(uint8, uint8_t)                     \
  ITEM(uint16, uint16_t)                   \
  ITEM(uint32, uint32_t)                   \
  ITEM(uint64, uint64_t)                   \
  ITEM(size, size_t)

// Atomics that add and compare.
#define GDAKIT_NVSHMEM_ATOMIC_TYPES(ITEM) \
  ITEM(int, int)                          \
  ITEM(long, long)                        \
  ITEM(longlong, long long)               \
  ITEM(uint, unsigned int)                \
  ITEM(ulong, unsigned long)              \
  ITEM(ulonglong, unsigned long long)     \
  ITEM(int32, int32_t)                    \
  ITEM(int64, int64_t)                    \
  ITEM(uint32, uint32_t)                  \
  ITEM(uint64, uint64_t)                  \
  ITEM(size, size_t)                      \
  ITEM(ptrdiff, ptrdiff_t)

// Atomics that fetch, set and swap.
#define GDAKIT_NVSHMEM_SET_TYPES(ITEM) \
  GDAKIT_NVSHMEM_ATOMIC_TYPES(ITEM)    \
  ITEM(float, float)                   \
  ITEM(double, double)

// Atomics that work on bits.
#define GDAKIT_NVSHMEM_BIT_TYPES(ITEM) \
  ITEM(uint, unsigned int)             \
  ITEM(ulong, unsigned long)           \
  ITEM(ulonglong, unsigned long long)  \
  ITEM(int32, int32_t)                 \
  ITEM(int64, int64_t)                 \
  ITEM(uint32, uint32_t)               \
  ITEM(uint64, uint64_t)

// Words that are waited for.
#define GDAKIT_NVSHMEM_WAIT_TYPES(ITEM) \
  ITEM(short, short)                    \
  ITEM(ushort, unsigned short)          \
  GDAKIT_NVSHMEM_ATOMIC_TYPES(ITEM)

// Transfers named by a number of bits.
#define GDAKIT_NVSHMEM_SIZES(ITEM)    \
  ITEM(8, gdakit::nvshmem::Bits<8>)   \
  ITEM(16, gdakit::nvshmem::Bits<16>) \
  ITEM(32, gdakit::nvshmem::Bits<32>) \
  ITEM(64, gdakit::nvshmem::Bits<64>) \
  ITEM(128, gdakit::nvshmem::Bits<128>)
