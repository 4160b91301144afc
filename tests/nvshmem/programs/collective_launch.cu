// A kernel that is launched on all PEs together: its blocks meet, and one thread of each PE meets
// those of the others by nvshmem_barrier_all.
#include <algorithm>
#include <cooperative_groups.h>

#include "tests/nvshmem/programs/program.cuh"

constexpr int kThreads = 64;
constexpr int kMostBlocks = 8;  // PEs may share a GPU
constexpr int kSteps = 5;

// In each step every thread tells the next PE's thread of its number what it has, plus 1.
__global__ void shift(int* values, int* inbox) {
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
  const int i = static_cast<int>(grid.thread_rank());
  for (int step = 0; step < kSteps; ++step) {
    nvshmem_int_p(inbox + i, values[i] + 1, next);
    nvshmem_quiet();
    grid.sync();
    if (i == 0) nvshmem_barrier_all();
    grid.sync();
    values[i] = inbox[i];
    grid.sync();
    if (i == 0) nvshmem_barrier_all();
    grid.sync();
  }
}

int main() {
  program::count_gpus();
  nvshmem_init();
  program::take_gpu();
  const int mype = nvshmem_my_pe();
  const int npes = nvshmem_n_pes();
  cudaStream_t stream;
  program::check(cudaStreamCreate(&stream), "cudaStreamCreate");
  int* values = program::symmetric<int>(kMostBlocks * kThreads);
  int* inbox = program::symmetric<int>(kMostBlocks * kThreads);
  std::vector<int> first;
  for (int i = 0; i < kMostBlocks * kThreads; ++i) first.push_back(mype * 10000 + i);
  program::upload(values, first);

  program::Verdict verdict;
  void* args[] = {&values, &inbox};
  int blocks = 0;
  verdict.equal(
      "status of the query", 0,
      nvshmemx_collective_launch_query_gridsize((const void*)shift, kThreads, args, 0, &blocks), 0);
  verdict.equal("there is room for a block", 0, blocks > 0, true);
  blocks = std::min(blocks, kMostBlocks);
  nvshmem_barrier_all();
  verdict.equal("status of the launch", 0,
                nvshmemx_collective_launch((const void*)shift, blocks, kThreads, args, 0, stream),
                0);
  program::check(cudaStreamSynchronize(stream), "shift");

  const std::vector<int> moved = program::download(values, blocks * kThreads);
  const int origin = ((mype - kSteps) % npes + npes) % npes;
  for (int i = 0; i < blocks * kThreads; ++i) {
    verdict.equal("values", i, moved[i], origin * 10000 + i + kSteps);
  }
  nvshmem_free(values);
  nvshmem_free(inbox);
  return verdict.finish();
}
