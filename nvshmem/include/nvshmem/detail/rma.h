// Names that move data: put, get, their strided forms, p and g.
#pragma once

#include "nvshmem/detail/device_or_host.h"
#include "nvshmem/detail/types.h"

namespace gdakit::nvshmem {

template <class T>
GDAKIT_HOST_DEVICE void put(T* dest, const T* source, std::size_t count, int pe) {
  here(
      "nvshmem_put", [&](auto& p) { p.put(dest, source, count, pe); },
      [&](auto calls) { done("nvshmem_put", calls.put(dest, source, count, pe)); });
}
template <class T>
GDAKIT_HOST_DEVICE void put_nbi(T* dest, const T* source, std::size_t count, int pe) {
  here(
      "nvshmem_put_nbi", [&](auto& p) { p.put_nbi(dest, source, count, pe); },
      [&](auto calls) { done("nvshmem_put_nbi", calls.put_nbi(dest, source, count, pe)); });
}
template <class T>
GDAKIT_HOST_DEVICE void get(T* dest, const T* source, std::size_t count, int pe) {
  here(
      "nvshmem_get", [&](auto& p) { p.get(dest, source, count, pe); },
      [&](auto calls) { done("nvshmem_get", calls.get(dest, source, count, pe)); });
}
template <class T>
GDAKIT_HOST_DEVICE void get_nbi(T* dest, const T* source, std::size_t count, int pe) {
  here(
      "nvshmem_get_nbi", [&](auto& p) { p.get_nbi(dest, source, count, pe); },
      [&](auto calls) { done("nvshmem_get_nbi", calls.get_nbi(dest, source, count, pe)); });
}
template <class T>
GDAKIT_HOST_DEVICE void iput(T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                             std::size_t count, int pe) {
  here(
      "nvshmem_iput", [&](auto& p) { p.iput(dest, source, dst, sst, count, pe); },
      [&](auto calls) { done("nvshmem_iput", calls.iput(dest, source, dst, sst, count, pe)); });
}
template <class T>
GDAKIT_HOST_DEVICE void iget(T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                             std::size_t count, int pe) {
  here(
      "nvshmem_iget", [&](auto& p) { p.iget(dest, source, dst, sst, count, pe); },
      [&](auto calls) { done("nvshmem_iget", calls.iget(dest, source, dst, sst, count, pe)); });
}
template <class T>
GDAKIT_HOST_DEVICE void p(T* dest, T value, int pe) {
  here(
      "nvshmem_p", [&](auto& thread) { thread.put_value(dest, value, pe); },
      [&](auto calls) { done("nvshmem_p", calls.put_value(dest, value, pe)); });
}
template <class T>
GDAKIT_HOST_DEVICE T g(const T* source, int pe) {
  return here(
      "nvshmem_g", [&](auto& thread) { return thread.get_value(source, pe); },
      [&](auto calls) { return done("nvshmem_g", calls.get_value(source, pe)); });
}

// By a warp or a block.
template <class Group, class T>
GDAKIT_DEVICE_ONLY void put_by(T* dest, const T* source, std::size_t count, int pe) {
  in_kernel<Group>([&](auto& group) { group.put(dest, source, count, pe); });
}
template <class Group, class T>
GDAKIT_DEVICE_ONLY void put_nbi_by(T* dest, const T* source, std::size_t count, int pe) {
  in_kernel<Group>([&](auto& group) { group.put_nbi(dest, source, count, pe); });
}
template <class Group, class T>
GDAKIT_DEVICE_ONLY void get_by(T* dest, const T* source, std::size_t count, int pe) {
  in_kernel<Group>([&](auto& group) { group.get(dest, source, count, pe); });
}
template <class Group, class T>
GDAKIT_DEVICE_ONLY void get_nbi_by(T* dest, const T* source, std::size_t count, int pe) {
  in_kernel<Group>([&](auto& group) { group.get_nbi(dest, source, count, pe); });
}
template <class Group, class T>
GDAKIT_DEVICE_ONLY void iput_by(T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                                std::size_t count, int pe) {
  in_kernel<Group>([&](auto& group) { group.iput(dest, source, dst, sst, count, pe); });
}
template <class Group, class T>
GDAKIT_DEVICE_ONLY void iget_by(T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                                std::size_t count, int pe) {
  in_kernel<Group>([&](auto& group) { group.iget(dest, source, dst, sst, count, pe); });
}

}  // namespace gdakit::nvshmem

extern "C" {

// One function that forwards: a name, what it calls, and its parameters.
#define GDAKIT_NVSHMEM_MOVE(NAME, CALL, TYPE)                                            \
  GDAKIT_NVSHMEM_CALL void NAME(TYPE* dest, const TYPE* source, size_t nelems, int pe) { \
    gdakit::nvshmem::CALL(dest, source, nelems, pe);                                     \
  }
#define GDAKIT_NVSHMEM_MOVE_BY(NAME, CALL, GROUP, TYPE)                                 \
  GDAKIT_DEVICE_ONLY void NAME(TYPE* dest, const TYPE* source, size_t nelems, int pe) { \
    gdakit::nvshmem::CALL<gdakit::GROUP>(dest, source, nelems, pe);                     \
  }
#define GDAKIT_NVSHMEM_STRIDE(NAME, CALL, TYPE)                                               \
  GDAKIT_NVSHMEM_CALL void NAME(TYPE* dest, const TYPE* source, ptrdiff_t dst, ptrdiff_t sst, \
                                size_t nelems, int pe) {                                      \
    gdakit::nvshmem::CALL(dest, source, dst, sst, nelems, pe);                                \
  }
#define GDAKIT_NVSHMEM_STRIDE_BY(NAME, CALL, GROUP, TYPE)                                    \
  GDAKIT_DEVICE_ONLY void NAME(TYPE* dest, const TYPE* source, ptrdiff_t dst, ptrdiff_t sst, \
                               size_t nelems, int pe) {                                      \
    gdakit::nvshmem::CALL<gdakit::GROUP>(dest, source, dst, sst, nelems, pe);                \
  }

#define GDAKIT_NVSHMEM_RMA(NAME, TYPE)                                                \
  GDAKIT_NVSHMEM_MOVE(nvshmem_##NAME##_put, put, TYPE)                                \
  GDAKIT_NVSHMEM_MOVE(nvshmem_##NAME##_put_nbi, put_nbi, TYPE)                        \
  GDAKIT_NVSHMEM_MOVE(nvshmem_##NAME##_get, get, TYPE)                                \
  GDAKIT_NVSHMEM_MOVE(nvshmem_##NAME##_get_nbi, get_nbi, TYPE)                        \
  GDAKIT_NVSHMEM_STRIDE(nvshmem_##NAME##_iput, iput, TYPE)                            \
  GDAKIT_NVSHMEM_STRIDE(nvshmem_##NAME##_iget, iget, TYPE)                            \
  GDAKIT_NVSHMEM_CALL void nvshmem_##NAME##_p(TYPE* dest, const TYPE value, int pe) { \
    gdakit::nvshmem::p<TYPE>(dest, value, pe);                                        \
  }                                                                                   \
  GDAKIT_NVSHMEM_RMA_BY(NAME, TYPE, warp, WarpGroup)                                  \
  GDAKIT_NVSHMEM_RMA_BY(NAME, TYPE, block, BlockGroup)
#define GDAKIT_NVSHMEM_RMA_BY(NAME, TYPE, SCOPE, GROUP)                              \
  GDAKIT_NVSHMEM_MOVE_BY(nvshmemx_##NAME##_put_##SCOPE, put_by, GROUP, TYPE)         \
  GDAKIT_NVSHMEM_MOVE_BY(nvshmemx_##NAME##_put_nbi_##SCOPE, put_nbi_by, GROUP, TYPE) \
  GDAKIT_NVSHMEM_MOVE_BY(nvshmemx_##NAME##_get_##SCOPE, get_by, GROUP, TYPE)         \
  GDAKIT_NVSHMEM_MOVE_BY(nvshmemx_##NAME##_get_nbi_##SCOPE, get_nbi_by, GROUP, TYPE) \
  GDAKIT_NVSHMEM_STRIDE_BY(nvshmemx_##NAME##_iput_##SCOPE, iput_by, GROUP, TYPE)     \
  GDAKIT_NVSHMEM_STRIDE_BY(nvshmemx_##NAME##_iget_##SCOPE, iget_by, GROUP, TYPE)
GDAKIT_NVSHMEM_TYPES(GDAKIT_NVSHMEM_RMA)

#define GDAKIT_NVSHMEM_G(NAME, TYPE)                                        \
  GDAKIT_NVSHMEM_CALL TYPE nvshmem_##NAME##_g(const TYPE* source, int pe) { \
    return gdakit::nvshmem::g<TYPE>(source, pe);                            \
  }
GDAKIT_NVSHMEM_NUMBERS(GDAKIT_NVSHMEM_G)

// Names with a number of bits: `void*`, and the same calls.
#define GDAKIT_NVSHMEM_VOID_MOVE(NAME, CALL, TYPE)                                                 \
  GDAKIT_NVSHMEM_CALL void NAME(void* dest, const void* source, size_t nelems, int pe) {           \
    gdakit::nvshmem::CALL(static_cast<TYPE*>(dest), static_cast<const TYPE*>(source), nelems, pe); \
  }
#define GDAKIT_NVSHMEM_VOID_MOVE_BY(NAME, CALL, GROUP, TYPE)                            \
  GDAKIT_DEVICE_ONLY void NAME(void* dest, const void* source, size_t nelems, int pe) { \
    gdakit::nvshmem::CALL<gdakit::GROUP>(static_cast<TYPE*>(dest),                      \
                                         static_cast<const TYPE*>(source), nelems, pe); \
  }
#define GDAKIT_NVSHMEM_VOID_STRIDE(NAME, CALL, TYPE)                                            \
  GDAKIT_NVSHMEM_CALL void NAME(void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst,   \
                                size_t nelems, int pe) {                                        \
    gdakit::nvshmem::CALL(static_cast<TYPE*>(dest), static_cast<const TYPE*>(source), dst, sst, \
                          nelems, pe);                                                          \
  }
#define GDAKIT_NVSHMEM_VOID_STRIDE_BY(NAME, CALL, GROUP, TYPE)                                    \
  GDAKIT_DEVICE_ONLY void NAME(void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst,      \
                               size_t nelems, int pe) {                                           \
    gdakit::nvshmem::CALL<gdakit::GROUP>(static_cast<TYPE*>(dest),                                \
                                         static_cast<const TYPE*>(source), dst, sst, nelems, pe); \
  }
#define GDAKIT_NVSHMEM_VOID_RMA_BY(SUFFIX, TYPE, SCOPE, GROUP)                             \
  GDAKIT_NVSHMEM_VOID_MOVE_BY(nvshmemx_put##SUFFIX##_##SCOPE, put_by, GROUP, TYPE)         \
  GDAKIT_NVSHMEM_VOID_MOVE_BY(nvshmemx_put##SUFFIX##_nbi_##SCOPE, put_nbi_by, GROUP, TYPE) \
  GDAKIT_NVSHMEM_VOID_MOVE_BY(nvshmemx_get##SUFFIX##_##SCOPE, get_by, GROUP, TYPE)         \
  GDAKIT_NVSHMEM_VOID_MOVE_BY(nvshmemx_get##SUFFIX##_nbi_##SCOPE, get_nbi_by, GROUP, TYPE)
#define GDAKIT_NVSHMEM_VOID_RMA(SUFFIX, TYPE)                        \
  GDAKIT_NVSHMEM_VOID_MOVE(nvshmem_put##SUFFIX, put, TYPE)           \
  GDAKIT_NVSHMEM_VOID_MOVE(nvshmem_put##SUFFIX##_nbi, put_nbi, TYPE) \
  GDAKIT_NVSHMEM_VOID_MOVE(nvshmem_get##SUFFIX, get, TYPE)           \
  GDAKIT_NVSHMEM_VOID_MOVE(nvshmem_get##SUFFIX##_nbi, get_nbi, TYPE) \
  GDAKIT_NVSHMEM_VOID_RMA_BY(SUFFIX, TYPE, warp, WarpGroup)          \
  GDAKIT_NVSHMEM_VOID_RMA_BY(SUFFIX, TYPE, block, BlockGroup)
#define GDAKIT_NVSHMEM_SIZED_RMA(BITS, TYPE)                                            \
  GDAKIT_NVSHMEM_VOID_RMA(BITS, TYPE)                                                   \
  GDAKIT_NVSHMEM_VOID_STRIDE(nvshmem_iput##BITS, iput, TYPE)                            \
  GDAKIT_NVSHMEM_VOID_STRIDE(nvshmem_iget##BITS, iget, TYPE)                            \
  GDAKIT_NVSHMEM_VOID_STRIDE_BY(nvshmemx_iput##BITS##_warp, iput_by, WarpGroup, TYPE)   \
  GDAKIT_NVSHMEM_VOID_STRIDE_BY(nvshmemx_iput##BITS##_block, iput_by, BlockGroup, TYPE) \
  GDAKIT_NVSHMEM_VOID_STRIDE_BY(nvshmemx_iget##BITS##_warp, iget_by, WarpGroup, TYPE)   \
  GDAKIT_NVSHMEM_VOID_STRIDE_BY(nvshmemx_iget##BITS##_block, iget_by, BlockGroup, TYPE)
GDAKIT_NVSHMEM_SIZES(GDAKIT_NVSHMEM_SIZED_RMA)
GDAKIT_NVSHMEM_VOID_RMA(mem, unsigned char)

}  // extern "C"

// C knows no result that is a class, and some compilers warn of one.
GDAKIT_NVSHMEM_CLASSES(GDAKIT_NVSHMEM_G)
