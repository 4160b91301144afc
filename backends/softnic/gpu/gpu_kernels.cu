// The helper kernel of small operations, a warp for each chain.
#include <algorithm>
#include <cuda/atomic>

#include "backends/softnic/gpu/gpu_kernel_parts.cuh"
#include "backends/softnic/gpu/gpu_kernels.cuh"
#include "core/base/bits.h"

namespace gdakit::softnic {
namespace {

constexpr unsigned kBatchThreads = 128;
constexpr unsigned kBatchBlocks = 64;

// Orders   all operations of the chain so far
// before   the one that follows,
// for      threads that poll what it stores: of this GPU or, in host memory, of the host.
// Every lane has a fence of its own, since every lane may store.
__device__ void order_operations(bool on_host) {
  __syncwarp();
  if (on_host) {
    __threadfence_system();
  } else {
    __threadfence();
  }
}

// A copy of a word is one store.
__device__ void copy_small(const GpuOp& op, unsigned lane) {
  const bool word =
      (op.size == 1 || op.size == 2 || op.size == 4 || op.size == 8) && op.to % op.size == 0;
  const std::uint32_t last = word ? op.size : op.tail;
  const std::uint32_t at = op.size - last;
  // Before a last word of half a vector the other half is copied as one, beside the vectors: as
  // eight bytes it would come after them, a trip to memory later.
  const bool half = !word && last == 8 && at >= 8 && (op.to + at) % sizeof(uint4) == 8 &&
                    (op.to ^ op.from) % sizeof(uint4) == 0;
  std::uint64_t value = 0;
  std::uint64_t before = 0;
  if (lane == 0 && half) before = load_word(op.from + at - 8, 8);
  if (lane == 0 && last != 0) value = load_word(op.from + at, last);
  if (!word) copy_any(op.to, op.from, half ? at - 8 : at, lane, warpSize);
  if (lane == 0 && half) store_word(op.to + at - 8, before, 8);
  if (last == 0) return;
  if (!word) order_operations(op.on_host != 0);
  if (lane == 0) store_word(op.to + at, value, last);
}

__device__ void store_cqe(std::uint64_t to, std::uint64_t from, bool on_host, unsigned lane) {
  constexpr unsigned kTail = 7;
  std::uint64_t word = 0;
  if (lane <= kTail) word = __ldcg(as<const unsigned long long>(from) + lane);
  if (lane < kTail) store_word(to + lane * sizeof word, word, sizeof word);
  order_operations(on_host);
  if (lane == kTail) store_word(to + lane * sizeof word, word, sizeof word);
}

template <class Word>
__device__ std::uint64_t modify(std::uint64_t at, const AtomicRequest& request) {
  InSystem<Word> word(*as<Word>(at));
  if (request.kind == AtomicKind::fetch_add && request.boundary == 0) {
    return word.fetch_add(static_cast<Word>(request.swap_add), cuda::memory_order_relaxed);
  }
  Word old = word.load(cuda::memory_order_relaxed);
  while (!word.compare_exchange_weak(old, static_cast<Word>(atomic_result(request, old)),
                                     cuda::memory_order_relaxed)) {
  }
  return old;
}

__device__ void run_operation(const GpuOp& op, unsigned lane) {
  switch (op.kind) {
    case GpuOpKind::word:
      if (lane == 0) store_word(op.to, op.from, op.size);
      break;
    case GpuOpKind::bytes: copy_small(op, lane); break;
    case GpuOpKind::cqe: store_cqe(op.to, op.from, op.on_host != 0, lane); break;
    case GpuOpKind::atomic:
      if (lane == 0) {
        GpuAtomic& atomic = *as<GpuAtomic>(op.from);
        atomic.old = atomic.request.size == 4 ? modify<std::uint32_t>(op.to, atomic.request)
                                              : modify<std::uint64_t>(op.to, atomic.request);
      }
      break;
  }
}

__device__ GpuOp from_lane(const GpuOp& op, unsigned lane) {
  constexpr unsigned kAll = 0xffffffffu;
  GpuOp out;
  out.to = __shfl_sync(kAll, static_cast<unsigned long long>(op.to), lane);
  out.from = __shfl_sync(kAll, static_cast<unsigned long long>(op.from), lane);
  out.size = __shfl_sync(kAll, op.size, lane);
  out.kind = static_cast<GpuOpKind>(__shfl_sync(kAll, static_cast<unsigned>(op.kind), lane));
  out.on_host = __shfl_sync(kAll, op.on_host, lane);
  out.tail = __shfl_sync(kAll, op.tail, lane);
  return out;
}

// What a warp is about to do: a chain, and one operation of it for each lane.
struct WarpWork {
  std::uint64_t number = 0;
  GpuChain chain;
  GpuOp own;
};

__device__ GpuOp read_operation(const GpuLaunch& launch, std::uint32_t number) {
  GpuOp op;
  const auto* const source = reinterpret_cast<const uint4*>(launch.ops + number);
  auto* const target = reinterpret_cast<uint4*>(&op);
  target[0] = __ldcg(source);
  target[1] = __ldcg(source + 1);
  return op;
}

// A warp's worth of operations is read at once, since each read goes to the host and back.
__device__ WarpWork take_chain(const GpuLaunch& launch, unsigned lane) {
  WarpWork work;
  if (lane == 0) work.number = take(launch);
  work.number = __shfl_sync(0xffffffffu, static_cast<unsigned long long>(work.number), 0);
  if (work.number >= launch.work) return work;
  work.chain =
      launch.work <= kGpuFewChains ? launch.few_chains[work.number] : launch.chains[work.number];
  if (lane < work.chain.count) work.own = read_operation(launch, work.chain.first + lane);
  return work;
}

__device__ void run_chain(const GpuLaunch& launch, const WarpWork& work, unsigned lane) {
  GpuOp own = work.own;
  for (std::uint32_t begin = 0; begin < work.chain.count; begin += warpSize) {
    const std::uint32_t left = work.chain.count - begin;
    if (begin != 0 && lane < left) own = read_operation(launch, work.chain.first + begin + lane);
    const std::uint32_t count = min(left, static_cast<std::uint32_t>(warpSize));
    for (std::uint32_t i = 0; i < count; ++i) {
      const GpuOp op = from_lane(own, i);
      if (begin + i != 0) order_operations(op.on_host != 0);
      run_operation(op, lane);
    }
  }
}

// Each warp reads its first chain while the host is asked whether the launch still counts: what it
// has read is not looked at if not.
__global__ void __launch_bounds__(kBatchThreads) batch_kernel(const GpuLaunch launch) {
  if (launch.control == nullptr) return;
  const unsigned lane = threadIdx.x % warpSize;
  WarpWork work = take_chain(launch, lane);
  if (begin(launch)) {
    while (work.number < launch.work) {
      run_chain(launch, work, lane);
      __syncwarp();
      if (lane == 0) finish(launch, 1);
      work = take_chain(launch, lane);
    }
  }
  leave(launch);
}

}  // namespace

void launch_batch_kernel(cudaStream_t stream, const GpuLaunch& launch, int) {
  constexpr std::uint64_t kWarps = kBatchThreads / 32;
  const std::uint64_t blocks =
      std::min<std::uint64_t>(divide_up(launch.work, kWarps), kBatchBlocks);
  batch_kernel<<<static_cast<unsigned>(blocks), kBatchThreads, 0, stream>>>(launch);
}

cudaError_t load_kernels(cudaStream_t stream) {
  batch_kernel<<<1, kBatchThreads, 0, stream>>>(GpuLaunch{});
  const cudaError_t batch = cudaGetLastError();
  const cudaError_t bulk = load_bulk_kernels(stream);
  if (batch != cudaSuccess || bulk != cudaSuccess) return batch != cudaSuccess ? batch : bulk;
  return cudaStreamSynchronize(stream);
}

}  // namespace gdakit::softnic
