// Names that end in _on_stream: what the host puts into a stream for later.
#pragma once

#include "nvshmem/detail/device_or_host.h"
#include "nvshmem/detail/types.h"

namespace gdakit::nvshmem {

inline HostCalls on(const char* call, Stream stream) {
  return HostCalls::on_stream(context(call), stream);
}

}  // namespace gdakit::nvshmem

extern "C" {

#define GDAKIT_NVSHMEM_MOVE_ON_STREAM(NAME, CALL, TYPE, PARAMETER)                                 \
  GDAKIT_NVSHMEM_HOST_CALL void NAME(PARAMETER* dest, const PARAMETER* source, size_t nelems,      \
                                     int pe, gdakit::Stream stream) {                              \
    gdakit::nvshmem::done(                                                                         \
        #NAME, gdakit::nvshmem::on(#NAME, stream)                                                  \
                   .CALL(static_cast<TYPE*>(dest), static_cast<const TYPE*>(source), nelems, pe)); \
  }
#define GDAKIT_NVSHMEM_STRIDE_ON_STREAM(NAME, CALL, TYPE, PARAMETER)                           \
  GDAKIT_NVSHMEM_HOST_CALL void NAME(PARAMETER* dest, const PARAMETER* source, ptrdiff_t dst,  \
                                     ptrdiff_t sst, size_t nelems, int pe,                     \
                                     gdakit::Stream stream) {                                  \
    gdakit::nvshmem::done(                                                                     \
        #NAME, gdakit::nvshmem::on(#NAME, stream)                                              \
                   .CALL(static_cast<TYPE*>(dest), static_cast<const TYPE*>(source), dst, sst, \
                         nelems, pe));                                                         \
  }
#define GDAKIT_NVSHMEM_SIGNAL_ON_STREAM(NAME, CALL, TYPE, PARAMETER)                          \
  GDAKIT_NVSHMEM_HOST_CALL void NAME(PARAMETER* dest, const PARAMETER* source, size_t nelems, \
                                     uint64_t* sig_addr, uint64_t signal, int sig_op, int pe, \
                                     gdakit::Stream stream) {                                 \
    gdakit::nvshmem::done(                                                                    \
        #NAME, gdakit::nvshmem::on(#NAME, stream)                                             \
                   .CALL(static_cast<TYPE*>(dest), static_cast<const TYPE*>(source), nelems,  \
                         sig_addr, signal, gdakit::nvshmem::signal_op_of(sig_op), pe));       \
  }
// BEFORE and BEHIND: what stands in a name before and behind put or get.
#define GDAKIT_NVSHMEM_MOVES_ON_STREAM(BEFORE, BEHIND, TYPE, PARAMETER)                           \
  GDAKIT_NVSHMEM_MOVE_ON_STREAM(nvshmemx_##BEFORE##put##BEHIND##_on_stream, put, TYPE, PARAMETER) \
  GDAKIT_NVSHMEM_MOVE_ON_STREAM(nvshmemx_##BEFORE##put##BEHIND##_nbi_on_stream, put_nbi, TYPE,    \
                                PARAMETER)                                                        \
  GDAKIT_NVSHMEM_MOVE_ON_STREAM(nvshmemx_##BEFORE##get##BEHIND##_on_stream, get, TYPE, PARAMETER) \
  GDAKIT_NVSHMEM_MOVE_ON_STREAM(nvshmemx_##BEFORE##get##BEHIND##_nbi_on_stream, get_nbi, TYPE,    \
                                PARAMETER)                                                        \
  GDAKIT_NVSHMEM_SIGNAL_ON_STREAM(nvshmemx_##BEFORE##put##BEHIND##_signal_on_stream, put_signal,  \
                                  TYPE, PARAMETER)                                                \
  GDAKIT_NVSHMEM_SIGNAL_ON_STREAM(nvshmemx_##BEFORE##put##BEHIND##_signal_nbi_on_stream,          \
                                  put_signal_nbi, TYPE, PARAMETER)
#define GDAKIT_NVSHMEM_STRIDES_ON_STREAM(BEFORE, BEHIND, TYPE, PARAMETER)                  \
  GDAKIT_NVSHMEM_STRIDE_ON_STREAM(nvshmemx_##BEFORE##iput##BEHIND##_on_stream, iput, TYPE, \
                                  PARAMETER)                                               \
  GDAKIT_NVSHMEM_STRIDE_ON_STREAM(nvshmemx_##BEFORE##iget##BEHIND##_on_stream, iget, TYPE, \
                                  PARAMETER)
#define GDAKIT_NVSHMEM_TYPED_ON_STREAM(NAME, TYPE)                                               \
  GDAKIT_NVSHMEM_MOVES_ON_STREAM(NAME##_, , TYPE, TYPE)                                          \
  GDAKIT_NVSHMEM_STRIDES_ON_STREAM(NAME##_, , TYPE, TYPE)                                        \
  GDAKIT_NVSHMEM_HOST_CALL void nvshmemx_##NAME##_p_on_stream(TYPE* dest, const TYPE value,      \
                                                              int pe, gdakit::Stream stream) {   \
    constexpr const char* kCall = "nvshmemx_" #NAME "_p_on_stream";                              \
    gdakit::nvshmem::done(kCall, gdakit::nvshmem::on(kCall, stream).put_value(dest, value, pe)); \
  }
GDAKIT_NVSHMEM_TYPES(GDAKIT_NVSHMEM_TYPED_ON_STREAM)

#define GDAKIT_NVSHMEM_G_ON_STREAM(NAME, TYPE)                                                     \
  GDAKIT_NVSHMEM_HOST_CALL TYPE nvshmemx_##NAME##_g_on_stream(const TYPE* source, int pe,          \
                                                              gdakit::Stream stream) {             \
    constexpr const char* kCall = "nvshmemx_" #NAME "_g_on_stream";                                \
    return gdakit::nvshmem::done(kCall, gdakit::nvshmem::on(kCall, stream).get_value(source, pe)); \
  }
GDAKIT_NVSHMEM_NUMBERS(GDAKIT_NVSHMEM_G_ON_STREAM)

#define GDAKIT_NVSHMEM_SIZED_ON_STREAM(BITS, TYPE)   \
  GDAKIT_NVSHMEM_MOVES_ON_STREAM(, BITS, TYPE, void) \
  GDAKIT_NVSHMEM_STRIDES_ON_STREAM(, BITS, TYPE, void)
GDAKIT_NVSHMEM_SIZES(GDAKIT_NVSHMEM_SIZED_ON_STREAM)
GDAKIT_NVSHMEM_MOVES_ON_STREAM(, mem, unsigned char, void)

#define GDAKIT_NVSHMEM_WAIT_ON_STREAM(NAME, TYPE)                                                  \
  GDAKIT_NVSHMEM_HOST_CALL void nvshmemx_##NAME##_wait_until_on_stream(                            \
      TYPE* ivar, int cmp, TYPE cmp_value, gdakit::Stream stream) {                                \
    constexpr const char* kCall = "nvshmemx_" #NAME "_wait_until_on_stream";                       \
    gdakit::nvshmem::done(kCall,                                                                   \
                          gdakit::nvshmem::on(kCall, stream)                                       \
                              .wait_until(ivar, gdakit::nvshmem::compare_of(cmp), cmp_value));     \
  }                                                                                                \
  GDAKIT_NVSHMEM_HOST_CALL void nvshmemx_##NAME##_wait_until_all_on_stream(                        \
      TYPE* ivars, size_t nelems, const int* status, int cmp, TYPE cmp_value,                      \
      gdakit::Stream stream) {                                                                     \
    constexpr const char* kCall = "nvshmemx_" #NAME "_wait_until_all_on_stream";                   \
    gdakit::nvshmem::done(                                                                         \
        kCall,                                                                                     \
        gdakit::nvshmem::on(kCall, stream)                                                         \
            .wait_until_all(ivars, nelems, status, gdakit::nvshmem::compare_of(cmp), cmp_value));  \
  }                                                                                                \
  GDAKIT_NVSHMEM_HOST_CALL void nvshmemx_##NAME##_wait_until_all_vector_on_stream(                 \
      TYPE* ivars, size_t nelems, const int* status, int cmp, TYPE* cmp_values,                    \
      gdakit::Stream stream) {                                                                     \
    constexpr const char* kCall = "nvshmemx_" #NAME "_wait_until_all_vector_on_stream";            \
    gdakit::nvshmem::done(                                                                         \
        kCall, gdakit::nvshmem::on(kCall, stream)                                                  \
                   .wait_until_all_vector(ivars, nelems, status, gdakit::nvshmem::compare_of(cmp), \
                                          cmp_values));                                            \
  }
GDAKIT_NVSHMEM_WAIT_TYPES(GDAKIT_NVSHMEM_WAIT_ON_STREAM)

GDAKIT_NVSHMEM_HOST_CALL void nvshmemx_signal_op_on_stream(uint64_t* sig_addr, uint64_t signal,
                                                           int sig_op, int pe,
                                                           gdakit::Stream stream) {
  constexpr const char* kCall = "nvshmemx_signal_op_on_stream";
  gdakit::nvshmem::done(kCall,
                        gdakit::nvshmem::on(kCall, stream)
                            .signal(sig_addr, signal, gdakit::nvshmem::signal_op_of(sig_op), pe));
}
GDAKIT_NVSHMEM_HOST_CALL void nvshmemx_signal_wait_until_on_stream(uint64_t* sig_addr, int cmp,
                                                                   uint64_t cmp_value,
                                                                   gdakit::Stream stream) {
  constexpr const char* kCall = "nvshmemx_signal_wait_until_on_stream";
  gdakit::nvshmem::done(kCall,
                        gdakit::nvshmem::on(kCall, stream)
                            .wait_until(sig_addr, gdakit::nvshmem::compare_of(cmp), cmp_value));
}
GDAKIT_NVSHMEM_HOST_CALL void nvshmemx_quiet_on_stream(gdakit::Stream stream) {
  constexpr const char* kCall = "nvshmemx_quiet_on_stream";
  gdakit::nvshmem::done(kCall, gdakit::nvshmem::on(kCall, stream).quiet());
}

}  // extern "C"

// C knows no result that is a class, and some compilers warn of one.
GDAKIT_NVSHMEM_CLASSES(GDAKIT_NVSHMEM_G_ON_STREAM)
