// PE 0's data go around the ring: each PE waits for them, and puts them to the next one.
#include "tests/nvshmem/programs/program.cuh"

constexpr int kCount = 4096;

__global__ void ring_broadcast(int* data, int* flag, int root) {
  const int mype = nvshmem_my_pe();
  const int npes = nvshmem_n_pes();
  const int next = (mype + 1) % npes;

  if (mype != root) nvshmem_int_wait_until(flag, NVSHMEM_CMP_EQ, 1);
  if (next == root) return;
  nvshmem_int_put(data, data, kCount, next);
  nvshmem_fence();
  nvshmem_int_p(flag, 1, next);
}

int main() {
  program::count_gpus();
  nvshmem_init();
  program::take_gpu();
  int* data = program::symmetric<int>(kCount);
  int* flag = program::symmetric<int>(1);
  const int root = nvshmem_n_pes() - 1;
  if (nvshmem_my_pe() == root) {
    std::vector<int> values;
    for (int i = 0; i < kCount; ++i) values.push_back(3 * i + 1);
    program::upload(data, values);
  }
  nvshmem_barrier_all();

  cudaStream_t stream;
  program::check(cudaStreamCreate(&stream), "cudaStreamCreate");
  ring_broadcast<<<1, 1, 0, stream>>>(data, flag, root);
  nvshmemx_barrier_all_on_stream(stream);
  program::check(cudaStreamSynchronize(stream), "ring_broadcast");

  program::Verdict verdict;
  const std::vector<int> arrived = program::download(data, kCount);
  for (int i = 0; i < kCount; ++i) verdict.equal("data", i, arrived[i], 3 * i + 1);
  nvshmem_free(data);
  nvshmem_free(flag);
  return verdict.finish();
}
