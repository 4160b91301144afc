// NVSHMEM's names that are inline in its headers, as functions of the library: for who finds them
// by dlsym or declares them himself. Names made of types are not among them.
#include "nvshmem/nvshmem.h"

namespace {

using Function = void (*)();

template <class Result, class... Parameters>
Function exported(Result (*function)(Parameters...)) {
  return reinterpret_cast<Function>(function);
}

#define GDAKIT_NVSHMEM_EXPORT_BOTH(CALL) \
  exported(nvshmem_##CALL), exported(nvshmemx_##CALL##_on_stream)

// An inline function lies in the library where its address is taken.
[[gnu::used]] const Function exports[] = {
    exported(nvshmem_my_pe),
    exported(nvshmem_n_pes),
    exported(nvshmem_team_my_pe),
    exported(nvshmem_team_n_pes),
    exported(nvshmem_team_translate_pe),
    exported(nvshmem_ptr),
    exported(nvshmem_global_exit),
    exported(nvshmemx_mc_ptr),
    exported(nvshmem_query_thread),
    exported(nvshmem_info_get_version),
    exported(nvshmem_info_get_name),
    exported(nvshmemx_vendor_get_version_info),
    exported(nvshmem_fence),
    exported(nvshmem_signal_fetch),
    exported(nvshmemx_signal_wait_until_on_stream),
    GDAKIT_NVSHMEM_EXPORT_BOTH(quiet),
    GDAKIT_NVSHMEM_EXPORT_BOTH(barrier),
    GDAKIT_NVSHMEM_EXPORT_BOTH(barrier_all),
    GDAKIT_NVSHMEM_EXPORT_BOTH(sync),
    GDAKIT_NVSHMEM_EXPORT_BOTH(team_sync),
    GDAKIT_NVSHMEM_EXPORT_BOTH(sync_all),
    GDAKIT_NVSHMEM_EXPORT_BOTH(putmem),
    GDAKIT_NVSHMEM_EXPORT_BOTH(putmem_nbi),
    GDAKIT_NVSHMEM_EXPORT_BOTH(getmem),
    GDAKIT_NVSHMEM_EXPORT_BOTH(getmem_nbi),
    exported(nvshmemx_putmem_signal_on_stream),
    exported(nvshmemx_putmem_signal_nbi_on_stream),
    exported(nvshmemx_signal_op),
    exported(nvshmemx_signal_op_on_stream),
    GDAKIT_NVSHMEM_EXPORT_BOTH(broadcastmem),
    GDAKIT_NVSHMEM_EXPORT_BOTH(fcollectmem),
    GDAKIT_NVSHMEM_EXPORT_BOTH(alltoallmem),
};

}  // namespace
