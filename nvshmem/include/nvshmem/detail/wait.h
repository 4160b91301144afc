// Names that wait for words of this PE, and ask for them. In kernels.
#pragma once

#include "nvshmem/detail/device_or_host.h"
#include "nvshmem/detail/types.h"

namespace gdakit::nvshmem {

// Calls act(thread) in the kernel's thread.
template <class Act>
GDAKIT_DEVICE_ONLY auto ask(Act&& act) {
  return in_kernel<ThreadGroup>(act);
}

}  // namespace gdakit::nvshmem

extern "C" {

#define GDAKIT_NVSHMEM_WAIT(NAME, TYPE)                                                      \
  GDAKIT_DEVICE_ONLY void nvshmem_##NAME##_wait_until(TYPE* ivar, int cmp, TYPE cmp_value) { \
    gdakit::nvshmem::ask([&](auto& thread) {                                                 \
      return thread.wait_until(ivar, gdakit::nvshmem::compare_of(cmp), cmp_value);           \
    });                                                                                      \
  }                                                                                          \
  GDAKIT_DEVICE_ONLY int nvshmem_##NAME##_test(TYPE* ivar, int cmp, TYPE cmp_value) {        \
    return gdakit::nvshmem::ask([&](auto& thread) {                                          \
      return thread.test(ivar, gdakit::nvshmem::compare_of(cmp), cmp_value) ? 1 : 0;         \
    });                                                                                      \
  }                                                                                          \
  GDAKIT_NVSHMEM_WAIT_FORMS(NAME, TYPE, , TYPE cmp_value, cmp_value)                         \
  GDAKIT_NVSHMEM_WAIT_FORMS(NAME, TYPE, _vector, TYPE* cmp_values, cmp_values)

// VECTOR is empty or _vector, VALUE the parameter that it compares with.
#define GDAKIT_NVSHMEM_WAIT_FORMS(NAME, TYPE, VECTOR, PARAMETER, VALUE)                        \
  GDAKIT_DEVICE_ONLY void nvshmem_##NAME##_wait_until_all##VECTOR(                             \
      TYPE* ivars, size_t nelems, const int* status, int cmp, PARAMETER) {                     \
    gdakit::nvshmem::ask([&](auto& thread) {                                                   \
      return thread.wait_until_all##VECTOR(ivars, nelems, status,                              \
                                           gdakit::nvshmem::compare_of(cmp), VALUE);           \
    });                                                                                        \
  }                                                                                            \
  GDAKIT_DEVICE_ONLY size_t nvshmem_##NAME##_wait_until_any##VECTOR(                           \
      TYPE* ivars, size_t nelems, const int* status, int cmp, PARAMETER) {                     \
    return gdakit::nvshmem::ask([&](auto& thread) {                                            \
      size_t index = 0;                                                                        \
      thread.wait_until_any##VECTOR(ivars, nelems, status, gdakit::nvshmem::compare_of(cmp),   \
                                    VALUE, &index);                                            \
      return index;                                                                            \
    });                                                                                        \
  }                                                                                            \
  GDAKIT_DEVICE_ONLY size_t nvshmem_##NAME##_wait_until_some##VECTOR(                          \
      TYPE* ivars, size_t nelems, size_t* indices, const int* status, int cmp, PARAMETER) {    \
    return gdakit::nvshmem::ask([&](auto& thread) {                                            \
      size_t found = 0;                                                                        \
      thread.wait_until_some##VECTOR(ivars, nelems, status, gdakit::nvshmem::compare_of(cmp),  \
                                     VALUE, indices, &found);                                  \
      return found;                                                                            \
    });                                                                                        \
  }                                                                                            \
  GDAKIT_DEVICE_ONLY int nvshmem_##NAME##_test_all##VECTOR(                                    \
      TYPE* ivars, size_t nelems, const int* status, int cmp, PARAMETER) {                     \
    return gdakit::nvshmem::ask([&](auto& thread) {                                            \
      return thread.test_all##VECTOR(ivars, nelems, status, gdakit::nvshmem::compare_of(cmp),  \
                                     VALUE)                                                    \
                 ? 1                                                                           \
                 : 0;                                                                          \
    });                                                                                        \
  }                                                                                            \
  GDAKIT_DEVICE_ONLY size_t nvshmem_##NAME##_test_any##VECTOR(                                 \
      TYPE* ivars, size_t nelems, const int* status, int cmp, PARAMETER) {                     \
    return gdakit::nvshmem::ask([&](auto& thread) {                                            \
      return thread.test_any##VECTOR(ivars, nelems, status, gdakit::nvshmem::compare_of(cmp),  \
                                     VALUE);                                                   \
    });                                                                                        \
  }                                                                                            \
  GDAKIT_DEVICE_ONLY size_t nvshmem_##NAME##_test_some##VECTOR(                                \
      TYPE* ivars, size_t nelems, size_t* indices, const int* status, int cmp, PARAMETER) {    \
    return gdakit::nvshmem::ask([&](auto& thread) {                                            \
      return thread.test_some##VECTOR(ivars, nelems, status, gdakit::nvshmem::compare_of(cmp), \
                                      VALUE, indices);                                         \
    });                                                                                        \
  }
GDAKIT_NVSHMEM_WAIT_TYPES(GDAKIT_NVSHMEM_WAIT)

}  // extern "C"
