// Kernels that the assembler must find registers for, whatever they call: they have no
// __launch_bounds__, or some of their own. With and without -rdc=true. Compiled, not run.
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void move(uint64_t* words, float* dest, const float* source, int pe) {
  words[1] = nvshmem_uint64_atomic_fetch_add(words, 1, pe);
  dest[2] = nvshmem_float_g(dest, pe);
  nvshmem_float_p(dest, 1.0f, pe);
  nvshmem_float_iput(dest, source, 2, 3, 10, pe);
  nvshmemx_float_put_block(dest, source, 100, pe);
  nvshmemx_float_put_signal_nbi_block(dest, source, 100, words, 1, NVSHMEM_SIGNAL_ADD, pe);
  nvshmem_signal_wait_until(words, NVSHMEM_CMP_EQ, 1);
  nvshmem_fence();
  nvshmem_quiet();
  nvshmemx_barrier_all_block();
  if (words[2] != 0) nvshmem_global_exit(1);
}

__global__ void combine(float* dest, const float* source, int count) {
  nvshmemx_float_sum_reduce_block(NVSHMEM_TEAM_WORLD, dest, source, count);
}

__global__ void exchange(double* dest, const double* source, int count) {
  nvshmemx_double_max_reduce_warp(NVSHMEM_TEAM_WORLD, dest, source, count);
  nvshmemx_double_alltoall_block(NVSHMEM_TEAM_WORLD, dest, source, count);
  nvshmemx_double_broadcast_block(NVSHMEM_TEAM_WORLD, dest, source, count, 0);
  nvshmem_double_fcollect(NVSHMEM_TEAM_WORLD, dest, source, count);
  nvshmem_double_sum_reducescatter(NVSHMEM_TEAM_WORLD, dest, source, count);
}

#if !GDAKIT_DEVICE_DEBUG
__global__ void __launch_bounds__(1024, 1) bounded(float* dest, const float* source, int count) {
  nvshmemx_float_sum_reduce_block(NVSHMEM_TEAM_WORLD, dest, source, count);
  nvshmem_float_iput(dest, source, 2, 3, count, 0);
  nvshmemx_barrier_all_block();
}
#endif
