// A program for NVSHMEM without kernels of its own: all PEs in a ring, by the host's calls. What
// begins and ends the job is the caller's.
#pragma once

#include <cstdio>
#include <dlfcn.h>

#include "nvshmem/nvshmem.h"
#include "nvshmem/nvshmemx.h"

namespace host_only {

inline bool holds(bool condition, const char* what) {
  if (!condition) std::fprintf(stderr, "PE %d: %s is wrong\n", nvshmem_my_pe(), what);
  return condition;
}

// Whether the library has these under their names, for who looks them up.
inline bool finds_names() {
  bool good = true;
  for (const char* const name :
       {"nvshmem_init", "nvshmemx_init_attr", "nvshmemx_hostlib_init_attr", "nvshmem_finalize",
        "nvshmem_malloc", "nvshmem_free", "nvshmem_my_pe", "nvshmem_n_pes", "nvshmem_barrier_all",
        "nvshmemx_barrier_all_on_stream", "nvshmemx_putmem_on_stream", "nvshmem_ptr",
        "nvshmem_team_split_strided", "nvshmem_quiet"}) {
    good &= holds(::dlsym(RTLD_DEFAULT, name) != nullptr, name);
  }
  using OwnPe = int();
  auto* const my_pe = reinterpret_cast<OwnPe*>(::dlsym(RTLD_DEFAULT, "nvshmem_my_pe"));
  return good && holds(my_pe() == nvshmem_my_pe(), "nvshmem_my_pe by its name");
}

// Whether each PE got what the one before it sent. Says where it ran.
inline bool go_round() {
  const int me = nvshmem_my_pe();
  const int n = nvshmem_n_pes();
  const int next = (me + 1) % n;
  const int last = (me + n - 1) % n;
  auto* const words = static_cast<long*>(nvshmem_calloc(4, sizeof(long)));
  auto* const signal = static_cast<uint64_t*>(nvshmem_calloc(1, sizeof(uint64_t)));

  nvshmem_long_p(words, 10 * me, next);
  nvshmem_fence();
  nvshmem_uint64_atomic_add(signal, 1, next);
  nvshmemx_signal_wait_until_on_stream(signal, NVSHMEM_CMP_GE, 1, nullptr);
  bool good = finds_names();
  good &= holds(nvshmem_long_g(words, me) == 10 * last, "the number that was put");

  nvshmem_long_get(words + 1, words, 1, next);
  good &= holds(nvshmem_long_g(words + 1, me) == 10 * me, "the number that was got back");
  good &= holds(nvshmem_long_atomic_fetch_add(words + 2, 5, next) == 0, "the old value");
  nvshmem_barrier_all();
  good &= holds(nvshmem_long_sum_reduce(NVSHMEM_TEAM_WORLD, words + 3, words + 2, 1) == 0 &&
                    nvshmem_long_g(words + 3, me) == 5 * n,
                "the sum");
  nvshmem_barrier_all();
  nvshmem_free(signal);
  nvshmem_free(words);
  if (good) {
    std::printf("PE %d of %d on %s\n", me, n,
                gdakit::nvshmem::context("host_only").device_name().c_str());
  }
  return good;
}

}  // namespace host_only
