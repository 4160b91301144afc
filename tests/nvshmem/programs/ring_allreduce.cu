// The sum of all PEs' vectors, on all PEs, by a ring: each PE passes on partial sums of one chunk
// after the other, and then the finished chunks. Each block does so for a slice of its own.
#include <cstdint>

#include "tests/nvshmem/programs/program.cuh"

constexpr int kBlocks = 4;
constexpr int kChunk = 500;  // elements of a slice that one PE finishes

// A slice: n chunks of data, an inbox of as many, and a signal for each of the 2 (n - 1) steps, so
// that no message overtakes another one.
__global__ void ring_allreduce(float* data, float* inbox, uint64_t* signals) {
  const int mype = nvshmem_my_pe();
  const int npes = nvshmem_n_pes();
  const int next = (mype + 1) % npes;
  const int last_sum = npes - 1;
  data += blockIdx.x * npes * kChunk;
  inbox += blockIdx.x * npes * kChunk;
  signals += blockIdx.x * 2 * npes;

  for (int step = 0; step < 2 * last_sum; ++step) {
    const bool sums = step < last_sum;
    const int sent = (mype - step + 2 * npes) % npes;
    const int received = (sent - 1 + npes) % npes;
    float* const to = sums ? inbox + step * kChunk : data + sent * kChunk;
    nvshmemx_float_put_signal_nbi_block(to, data + sent * kChunk, kChunk, signals + step, 1,
                                        NVSHMEM_SIGNAL_SET, next);
    if (threadIdx.x == 0) nvshmem_signal_wait_until(signals + step, NVSHMEM_CMP_EQ, 1);
    __syncthreads();
    if (!sums) continue;
    for (int i = threadIdx.x; i < kChunk; i += blockDim.x) {
      data[received * kChunk + i] += inbox[step * kChunk + i];
    }
    __syncthreads();
  }
}

int main() {
  program::count_gpus();
  nvshmem_init();
  program::take_gpu();
  const int mype = nvshmem_my_pe();
  const int npes = nvshmem_n_pes();
  const int count = kBlocks * npes * kChunk;
  float* data = program::symmetric<float>(count);
  float* inbox = program::symmetric<float>(count);
  uint64_t* signals = program::symmetric<uint64_t>(kBlocks * 2 * npes);
  std::vector<float> mine;
  for (int i = 0; i < count; ++i) mine.push_back(static_cast<float>(mype + i % 100));
  program::upload(data, mine);
  nvshmem_barrier_all();

  cudaStream_t stream;
  program::check(cudaStreamCreate(&stream), "cudaStreamCreate");
  ring_allreduce<<<kBlocks, 256, 0, stream>>>(data, inbox, signals);
  nvshmemx_barrier_all_on_stream(stream);
  program::check(cudaStreamSynchronize(stream), "ring_allreduce");

  program::Verdict verdict;
  const std::vector<float> sums = program::download(data, count);
  for (int i = 0; i < count; ++i) {
    const int sum = npes * (npes - 1) / 2 + npes * (i % 100);
    verdict.equal("sum", i, sums[i], static_cast<float>(sum));
  }
  nvshmem_free(data);
  nvshmem_free(inbox);
  nvshmem_free(signals);
  return verdict.finish();
}
