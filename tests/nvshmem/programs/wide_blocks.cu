// Kernels as bandwidth programs have them: blocks of 1,024 threads that write, read, add and
// signal, by the block, by warps and by each thread. What the compiler makes of NVSHMEM's calls
// must leave so many threads their registers.
#include <cstdint>

#include "tests/nvshmem/programs/program.cuh"

constexpr int kBlocks = 4;
constexpr int kThreads = 1024;
constexpr int kCount = kBlocks * kThreads;
constexpr int kRounds = 10;

struct Memory {
  int* source;
  int* by_block;
  int* by_thread;
  int* back;
  int* sums;
  uint64_t* signals;  // of each block
};

__host__ __device__ int value(int pe, int i) { return pe * 100000 + i; }

__global__ void write_and_read(Memory at, int peer) {
  const int first = blockIdx.x * blockDim.x;
  const int i = first + threadIdx.x;
  for (int round = 0; round < kRounds; ++round) {
    nvshmemx_int_put_nbi_block(at.by_block + first, at.source + first, blockDim.x, peer);
    nvshmem_int_p(at.by_thread + i, at.source[i], peer);
    nvshmem_int_atomic_add(at.sums + i % 32, 1, peer);
  }
  nvshmemx_int_put_signal_block(at.by_block + first, at.source + first, blockDim.x,
                                at.signals + blockIdx.x, 1, NVSHMEM_SIGNAL_ADD, peer);
  if (threadIdx.x == 0) {
    nvshmem_signal_wait_until(at.signals + blockIdx.x, NVSHMEM_CMP_EQ, 1);
    nvshmem_quiet();
  }
  __syncthreads();
  const int in_warp = i / 32 * 32;
  nvshmemx_int_get_warp(at.back + in_warp, at.source + in_warp, 32, peer);
}

int main() {
  program::count_gpus();
  nvshmem_init();
  program::take_gpu();
  const int mype = nvshmem_my_pe();
  const int npes = nvshmem_n_pes();
  const Memory at{program::symmetric<int>(kCount), program::symmetric<int>(kCount),
                  program::symmetric<int>(kCount), program::symmetric<int>(kCount),
                  program::symmetric<int>(32),     program::symmetric<uint64_t>(kBlocks)};
  std::vector<int> mine(kCount);
  for (int i = 0; i < kCount; ++i) mine[i] = value(mype, i);
  program::upload(at.source, mine);
  nvshmem_barrier_all();

  write_and_read<<<kBlocks, kThreads>>>(at, (mype + 1) % npes);
  program::check(cudaGetLastError(), "write_and_read");
  program::check(cudaDeviceSynchronize(), "write_and_read");
  nvshmem_barrier_all();

  program::Verdict verdict;
  const int last = (mype + npes - 1) % npes;
  const int next = (mype + 1) % npes;
  const std::vector<int> by_block = program::download(at.by_block, kCount);
  const std::vector<int> by_thread = program::download(at.by_thread, kCount);
  const std::vector<int> back = program::download(at.back, kCount);
  for (int i = 0; i < kCount; ++i) {
    verdict.equal("put by a block", i, by_block[i], value(last, i));
    verdict.equal("p", i, by_thread[i], value(last, i));
    verdict.equal("get by a warp", i, back[i], value(next, i));
  }
  const std::vector<int> sums = program::download(at.sums, 32);
  for (int i = 0; i < 32; ++i) verdict.equal("adds", i, sums[i], kRounds * kCount / 32);
  nvshmem_free(at.source);
  nvshmem_free(at.by_block);
  nvshmem_free(at.by_thread);
  nvshmem_free(at.back);
  nvshmem_free(at.sums);
  nvshmem_free(at.signals);
  return verdict.finish();
}
