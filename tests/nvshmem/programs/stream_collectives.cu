// Collectives between kernels, on a stream: the host waits once, at the end.
#include "tests/nvshmem/programs/program.cuh"

constexpr int kCount = 2000;

__global__ void fill(float* values, int* numbers, int mype) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kCount) return;
  values[i] = static_cast<float>(mype + 1) + static_cast<float>(i % 10);
  numbers[i] = mype * kCount + i;
}

__global__ void halve(float* values) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) values[i] /= 2;
}

struct Buffers {
  float* values = program::symmetric<float>(kCount);
  float* sums = program::symmetric<float>(kCount);
  float* largest = program::symmetric<float>(kCount);
  int* numbers = program::symmetric<int>(kCount);
  int* from_last = program::symmetric<int>(kCount);
  int* all = program::symmetric<int>(static_cast<std::size_t>(kCount) * nvshmem_n_pes());

  void free() const {
    nvshmem_free(values);
    nvshmem_free(sums);
    nvshmem_free(largest);
    nvshmem_free(numbers);
    nvshmem_free(from_last);
    nvshmem_free(all);
  }
};

void enqueue(const Buffers& at, cudaStream_t stream) {
  const int last = nvshmem_n_pes() - 1;
  fill<<<(kCount + 255) / 256, 256, 0, stream>>>(at.values, at.numbers, nvshmem_my_pe());
  nvshmemx_barrier_all_on_stream(stream);
  nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, at.sums, at.values, kCount, stream);
  halve<<<(kCount + 255) / 256, 256, 0, stream>>>(at.sums);
  nvshmemx_float_max_reduce_on_stream(NVSHMEM_TEAM_WORLD, at.largest, at.values, kCount, stream);
  nvshmemx_int_broadcast_on_stream(NVSHMEM_TEAM_WORLD, at.from_last, at.numbers, kCount, last,
                                   stream);
  nvshmemx_int_fcollect_on_stream(NVSHMEM_TEAM_WORLD, at.all, at.numbers, kCount, stream);
  nvshmemx_quiet_on_stream(stream);
  nvshmemx_sync_all_on_stream(stream);
}

void verify(const Buffers& at, program::Verdict& verdict) {
  const int npes = nvshmem_n_pes();
  const std::vector<float> sums = program::download(at.sums, kCount);
  const std::vector<float> largest = program::download(at.largest, kCount);
  const std::vector<int> from_last = program::download(at.from_last, kCount);
  const std::vector<int> all = program::download(at.all, static_cast<std::size_t>(kCount) * npes);
  for (int i = 0; i < kCount; ++i) {
    const int sum = npes * (npes + 1) / 2 + npes * (i % 10);
    verdict.equal("half of the sum", i, sums[i], static_cast<float>(sum) / 2);
    verdict.equal("largest", i, largest[i], static_cast<float>(npes + i % 10));
    verdict.equal("broadcast", i, from_last[i], (npes - 1) * kCount + i);
  }
  for (int i = 0; i < npes * kCount; ++i) verdict.equal("fcollect", i, all[i], i);
}

int main() {
  program::count_gpus();
  nvshmem_init();
  program::take_gpu();
  cudaStream_t stream;
  program::check(cudaStreamCreate(&stream), "cudaStreamCreate");
  const Buffers buffers;
  program::Verdict verdict;
  for (int i = 0; i < 2; ++i) {
    enqueue(buffers, stream);
    program::check(cudaStreamSynchronize(stream), "collectives");
    verify(buffers, verdict);
  }
  buffers.free();
  return verdict.finish();
}
