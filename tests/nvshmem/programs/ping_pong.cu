// Pairs of PEs send a message to and fro: a put with its signal, which the other one waits for.
#include <cstdint>

#include "tests/nvshmem/programs/program.cuh"

constexpr int kCount = 1000;
constexpr int kRounds = 20;

// What a PE sends in a round.
__host__ __device__ int message(int pe, int round, int i) {
  return pe * 1000000 + round * 1000 + i;
}

// The one that comes first in a pair sends first. Counts the elements that arrived wrong.
__global__ void ping_pong(int* inbox, int* outbox, uint64_t* signal, int* wrong) {
  const int mype = nvshmem_my_pe();
  const int peer = mype ^ 1;
  if (peer >= nvshmem_n_pes()) return;
  for (int turn = 0; turn < 2 * kRounds; ++turn) {
    const int round = turn / 2;
    if (turn % 2 == mype % 2) {
      for (int i = threadIdx.x; i < kCount; i += blockDim.x) outbox[i] = message(mype, round, i);
      __syncthreads();
      nvshmemx_int_put_signal_nbi_block(inbox, outbox, kCount, signal, round + 1,
                                        NVSHMEM_SIGNAL_SET, peer);
      continue;
    }
    if (threadIdx.x == 0) nvshmem_signal_wait_until(signal, NVSHMEM_CMP_EQ, round + 1);
    __syncthreads();
    for (int i = threadIdx.x; i < kCount; i += blockDim.x) {
      if (inbox[i] != message(peer, round, i)) atomicAdd(wrong, 1);
    }
    __syncthreads();
  }
}

int main() {
  program::count_gpus();
  nvshmem_init();
  program::take_gpu();
  int* inbox = program::symmetric<int>(kCount);
  int* outbox = program::symmetric<int>(kCount);
  uint64_t* signal = program::symmetric<uint64_t>(1);
  int* wrong = program::symmetric<int>(1);
  nvshmem_barrier_all();

  ping_pong<<<1, 128>>>(inbox, outbox, signal, wrong);
  program::check(cudaDeviceSynchronize(), "ping_pong");
  nvshmem_barrier_all();

  program::Verdict verdict;
  verdict.equal("wrong elements", 0, program::download(wrong, 1)[0], 0);
  if ((nvshmem_my_pe() ^ 1) < nvshmem_n_pes()) {
    verdict.equal("signal", 0, program::download(signal, 1)[0], uint64_t{kRounds});
  }
  nvshmem_free(inbox);
  nvshmem_free(outbox);
  nvshmem_free(signal);
  nvshmem_free(wrong);
  return verdict.finish();
}
