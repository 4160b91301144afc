// As suites of benchmarks are written: each PE takes the GPU of its number without a look at how
// many there are, blocks have two dimensions and lend shared memory, launches have attributes,
// options that nobody gives would load kernels by the driver and register the program's own memory;
// and the reduction of pairs that only NVSHMEM has.
//
//   benchmark_harness [module | buffer]    the options: refused, with a sentence
#include <cstring>

#include "tests/nvshmem/programs/program.cuh"

// Names that such suites define for themselves.
enum Datatype { NVSHMEM_INT, NVSHMEM_LONG, NVSHMEM_FLOAT, NVSHMEM_DOUBLE, NVSHMEM_FP16 };
enum Operation { NVSHMEM_MIN, NVSHMEM_MAX, NVSHMEM_SUM, NVSHMEM_AND, NVSHMEM_OR };
enum Scope { NVSHMEM_THREAD, NVSHMEM_WARP, NVSHMEM_BLOCK, NVSHMEM_ALL_SCOPES };
enum Direction { WRITE, READ };
enum Issue { ON_STREAM, HOST };
static_assert(sizeof(half) == 2 && sizeof(__nv_bfloat16) == 2, "types that the header brings");

constexpr int kThreads = 64;
constexpr int kCount = 1000;

extern "C" {

// Each PE gives the pair of its number squared modulo 5 and its number.
__global__ void put_and_find(int* dest, const int* source, double2* found, double2* mine,
                             size_t smem_bytes) {
  extern __shared__ char smem[];
  const int mype = nvshmem_my_pe();
  const int npes = nvshmem_n_pes();
  nvshmemx_give_smem(smem, smem_bytes);
  __syncthreads();
  nvshmemx_int_put_nbi_block(dest, source, kCount, (mype + 1) % npes);
  if (threadIdx.x == 0 && threadIdx.y == 0) *mine = double2{double(mype * mype % 5), double(mype)};
  nvshmemx_double2_maxloc_reduce_block(NVSHMEM_TEAM_WORLD, found, mine, 1);
  nvshmemx_barrier_all_block();
  nvshmemx_release_smem();
}

}  // extern "C"

// The pair that all PEs must find.
double2 wanted(int npes) {
  double2 best{-1, 0};
  for (int pe = 0; pe < npes; ++pe) {
    const double x = pe * pe % 5;
    if (x > best.x) best = double2{x, double(pe)};
  }
  return best;
}

int load_kernels() {
  CUmodule module = nullptr;  // cuModuleLoad would make one
  return nvshmemx_cumodule_init(module);
}

int register_buffer() {
  void* buffer = nullptr;
  program::check(cudaMalloc(&buffer, 4096), "cudaMalloc");
  void* const symmetric = nvshmemx_buffer_register_symmetric(buffer, 4096, 0);
  if (symmetric == nullptr) return NVSHMEMX_ERROR_NOT_SUPPORTED;
  return nvshmemx_buffer_unregister_symmetric(symmetric, 4096);
}

int main(int argc, char** argv) {
  program::count_gpus();
  nvshmem_init();
  program::check(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE)), "cudaSetDevice");
  if (argc > 1 && std::strcmp(argv[1], "module") == 0) return load_kernels();
  if (argc > 1 && std::strcmp(argv[1], "buffer") == 0) return register_buffer();

  const int mype = nvshmem_my_pe();
  const int npes = nvshmem_n_pes();
  int* dest = program::symmetric<int>(kCount);
  int* source = program::symmetric<int>(kCount);
  double2* found = program::symmetric<double2>(1);
  double2* mine = program::symmetric<double2>(1);
  program::upload(source, std::vector<int>(kCount, mype));

  size_t smem_bytes = nvshmemx_ask_smem(NVSHMEMX_SMEM_RECOMMENDED);
  nvshmemx_collective_launch_attr_t launch{};
  launch.cuda_config.gridDim = dim3(1);
  launch.cuda_config.blockDim = dim3(kThreads / 8, 8);
  launch.cuda_config.dynamicSmemBytes = smem_bytes;
  void* arguments[] = {&dest, &source, &found, &mine, &smem_bytes};
  const int launched =
      nvshmemx_collective_launch_attr(&launch, (const void*)put_and_find, arguments);
  program::check(cudaDeviceSynchronize(), "put_and_find");

  program::Verdict verdict;
  verdict.equal("launch", 0, launched, int(NVSHMEMX_SUCCESS));
  const std::vector<int> got = program::download(dest, kCount);
  for (int i = 0; i < kCount; ++i) verdict.equal("dest", i, got[i], (mype + npes - 1) % npes);
  const double2 best = program::download(found, 1)[0];
  verdict.equal("largest", 0, best.x, wanted(npes).x);
  verdict.equal("largest's PE", 0, best.y, wanted(npes).y);
  for (void* memory : {(void*)dest, (void*)source, (void*)found, (void*)mine}) {
    nvshmem_free(memory);
  }
  return verdict.finish();
}
