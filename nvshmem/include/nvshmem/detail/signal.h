// Names of signals: puts with one, and words that are one.
#pragma once

#include "nvshmem/detail/device_or_host.h"
#include "nvshmem/detail/types.h"

namespace gdakit::nvshmem {

// A put with its signal, as all forms pass it.
template <class T>
struct SignalledPut {
  T* dest;
  const T* source;
  std::size_t count;
  std::uint64_t* word;
  std::uint64_t value;
  int op;
  int pe;

  template <class Calls>
  GDAKIT_HOST_DEVICE auto by(Calls& calls) const {
    return calls.put_signal(dest, source, count, word, value, signal_op_of(op), pe);
  }
  template <class Calls>
  GDAKIT_HOST_DEVICE auto nbi_by(Calls& calls) const {
    return calls.put_signal_nbi(dest, source, count, word, value, signal_op_of(op), pe);
  }
};

template <class Group, class T>
GDAKIT_DEVICE_ONLY void put_signal_by(const SignalledPut<T>& what) {
  in_kernel<Group>([&](auto& group) { what.by(group); });
}
template <class Group, class T>
GDAKIT_DEVICE_ONLY void put_signal_nbi_by(const SignalledPut<T>& what) {
  in_kernel<Group>([&](auto& group) { what.nbi_by(group); });
}

}  // namespace gdakit::nvshmem

extern "C" {

#define GDAKIT_NVSHMEM_SIGNALLED(NAME, CALL, GROUP, TYPE, PARAMETER)                          \
  GDAKIT_DEVICE_ONLY void NAME(PARAMETER* dest, const PARAMETER* source, size_t nelems,       \
                               uint64_t* sig_addr, uint64_t signal, int sig_op, int pe) {     \
    gdakit::nvshmem::CALL<gdakit::GROUP>(gdakit::nvshmem::SignalledPut<TYPE>{                 \
        static_cast<TYPE*>(dest), static_cast<const TYPE*>(source), nelems, sig_addr, signal, \
        sig_op, pe});                                                                         \
  }
// PLAIN and EXTENDED: the name before and behind put, without and with a group of threads.
#define GDAKIT_NVSHMEM_PUT_SIGNALS(BEFORE, BEHIND, TYPE, PARAMETER)                                \
  GDAKIT_NVSHMEM_SIGNALLED(nvshmem_##BEFORE##put##BEHIND##_signal, put_signal_by, ThreadGroup,     \
                           TYPE, PARAMETER)                                                        \
  GDAKIT_NVSHMEM_SIGNALLED(nvshmem_##BEFORE##put##BEHIND##_signal_nbi, put_signal_nbi_by,          \
                           ThreadGroup, TYPE, PARAMETER)                                           \
  GDAKIT_NVSHMEM_SIGNALLED(nvshmemx_##BEFORE##put##BEHIND##_signal_warp, put_signal_by, WarpGroup, \
                           TYPE, PARAMETER)                                                        \
  GDAKIT_NVSHMEM_SIGNALLED(nvshmemx_##BEFORE##put##BEHIND##_signal_nbi_warp, put_signal_nbi_by,    \
                           WarpGroup, TYPE, PARAMETER)                                             \
  GDAKIT_NVSHMEM_SIGNALLED(nvshmemx_##BEFORE##put##BEHIND##_signal_block, put_signal_by,           \
                           BlockGroup, TYPE, PARAMETER)                                            \
  GDAKIT_NVSHMEM_SIGNALLED(nvshmemx_##BEFORE##put##BEHIND##_signal_nbi_block, put_signal_nbi_by,   \
                           BlockGroup, TYPE, PARAMETER)
#define GDAKIT_NVSHMEM_TYPED_PUT_SIGNALS(NAME, TYPE) \
  GDAKIT_NVSHMEM_PUT_SIGNALS(NAME##_, , TYPE, TYPE)
#define GDAKIT_NVSHMEM_SIZED_PUT_SIGNALS(BITS, TYPE) GDAKIT_NVSHMEM_PUT_SIGNALS(, BITS, TYPE, void)
GDAKIT_NVSHMEM_TYPES(GDAKIT_NVSHMEM_TYPED_PUT_SIGNALS)
GDAKIT_NVSHMEM_SIZES(GDAKIT_NVSHMEM_SIZED_PUT_SIGNALS)
GDAKIT_NVSHMEM_SIZED_PUT_SIGNALS(mem, unsigned char)

GDAKIT_NVSHMEM_CALL void nvshmemx_signal_op(uint64_t* sig_addr, uint64_t signal, int sig_op,
                                            int pe) {
  const gdakit::SignalOp op = gdakit::nvshmem::signal_op_of(sig_op);
  gdakit::nvshmem::here(
      "nvshmemx_signal_op", [&](auto& thread) { thread.signal(sig_addr, signal, op, pe); },
      [&](auto calls) {
        gdakit::nvshmem::done("nvshmemx_signal_op", calls.signal(sig_addr, signal, op, pe));
      });
}
GDAKIT_NVSHMEM_CALL uint64_t nvshmem_signal_fetch(uint64_t* sig_addr) {
  return gdakit::nvshmem::here(
      "nvshmem_signal_fetch", [&](auto& thread) { return thread.signal_fetch(sig_addr); },
      [&](auto calls) {
        return gdakit::nvshmem::done("nvshmem_signal_fetch", calls.signal_fetch(sig_addr));
      });
}
GDAKIT_DEVICE_ONLY uint64_t nvshmem_signal_wait_until(uint64_t* sig_addr, int cmp,
                                                      uint64_t cmp_value) {
  return gdakit::nvshmem::in_kernel<gdakit::ThreadGroup>([&](auto& thread) {
    return thread.signal_wait_until(sig_addr, gdakit::nvshmem::compare_of(cmp), cmp_value);
  });
}

}  // extern "C"
