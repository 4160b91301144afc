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
constexpr unsigned kAllLanes = 0xffffffffu;

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

// An operation as the warp does it. Of a copy the lanes copy the body, then one of them stores the
// last word. Before a last word of half a vector the other half is copied as one word, beside the
// body: within the body it would come after the vectors, a trip to memory later.
struct Step {
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::uint32_t size = 0;
  std::uint32_t what = 0;

  static constexpr std::uint32_t kKind = 3;
  static constexpr std::uint32_t kOnHost = 4;
  static constexpr std::uint32_t kInVectors = 8;  // aligned so at both ends
  static constexpr std::uint32_t kHalf = 16;
  static constexpr std::uint32_t kEarly = 32;  // may be read before the step before it is seen
  static constexpr unsigned kLastShift = 8;

  __device__ GpuOpKind kind() const { return static_cast<GpuOpKind>(what & kKind); }
  __device__ bool is(std::uint32_t flag) const { return (what & flag) != 0; }
  // Bytes of the last word, which may be all; 0: there is none.
  __device__ std::uint32_t last() const { return what >> kLastShift; }
  __device__ std::uint32_t body() const { return size - last() - (is(kHalf) ? 8 : 0); }
};

// The operation of each lane. A marked copy may be read before the operation before it is seen, if
// it does not read what that one writes. Other copies may be those of gets, which see memory in the
// order of the chain.
__device__ Step step_of(const GpuOp& op, unsigned lane) {
  Step step{op.to, op.from, op.size, static_cast<std::uint32_t>(op.kind)};
  if (op.on_host != 0) step.what |= Step::kOnHost;
  const std::uint64_t before = __shfl_up_sync(kAllLanes, static_cast<unsigned long long>(op.to), 1);
  const std::uint32_t before_size = __shfl_up_sync(kAllLanes, op.size, 1);
  if (op.kind != GpuOpKind::bytes) return step;
  const bool word =
      (op.size == 1 || op.size == 2 || op.size == 4 || op.size == 8) && op.to % op.size == 0;
  const std::uint32_t last = word ? op.size : op.tail;
  const std::uint32_t body = op.size - last;
  step.what |= last << Step::kLastShift;
  if ((op.to | op.from) % sizeof(uint4) == 0) step.what |= Step::kInVectors;
  if (last == 8 && body >= 8 && (op.to + body) % sizeof(uint4) == 8 &&
      (op.to ^ op.from) % sizeof(uint4) == 0) {
    step.what |= Step::kHalf;
  }
  if (lane != 0 && op.tail != 0 && !overlap(op.from, op.size, before, before_size)) {
    step.what |= Step::kEarly;
  }
  return step;
}

// What the lanes hold of a copy. Lane 0 has the words.
struct Held {
  static constexpr unsigned kVectors = 8;
  uint4 vectors[kVectors];
  std::uint64_t half = 0;
  std::uint64_t last = 0;
};

__device__ void read_vectors(Held& held, std::uint64_t from, unsigned count, unsigned lane) {
  const uint4* const source = as<const uint4>(from) + lane;
#pragma unroll
  for (unsigned i = 0; i < Held::kVectors; ++i) {
    const unsigned at = i * 32;
    if (at >= count) break;
    if (at + lane < count) held.vectors[i] = __ldcg(source + at);
  }
}

__device__ void store_vectors(const Held& held, std::uint64_t to, unsigned count, unsigned lane) {
  uint4* const target = as<uint4>(to) + lane;
#pragma unroll
  for (unsigned i = 0; i < Held::kVectors; ++i) {
    const unsigned at = i * 32;
    if (at >= count) break;
    if (at + lane < count) __stcg(target + at, held.vectors[i]);
  }
}

// The words, and of a body in vectors as many as the lanes hold.
__device__ void read_copy(Held& held, const Step& step, unsigned lane) {
  const std::uint32_t body = step.body();
  if (step.is(Step::kInVectors)) read_vectors(held, step.from, body / sizeof(uint4), lane);
  if (lane != 0) return;
  const std::uint32_t last = step.last();
  if (step.is(Step::kHalf)) held.half = load_word(step.from + body, 8);
  if (last != 0) held.last = load_word(step.from + step.size - last, last);
}

// `held` has been read.
__device__ void store_body(Held& held, const Step& step, unsigned lane) {
  const std::uint32_t body = step.body();
  if (lane == 0 && step.is(Step::kHalf)) store_word(step.to + body, held.half, 8);
  if (body == 0) return;
  if (!step.is(Step::kInVectors)) {
    copy_any(step.to, step.from, body, lane, warpSize);
    return;
  }
  constexpr unsigned kAtOnce = Held::kVectors * 32;
  const unsigned count = body / sizeof(uint4);
  store_vectors(held, step.to, count, lane);
#pragma unroll 1
  for (unsigned begin = kAtOnce; begin < count; begin += kAtOnce) {
    read_vectors(held, step.from + begin * sizeof(uint4), count - begin, lane);
    store_vectors(held, step.to + begin * sizeof(uint4), count - begin, lane);
  }
  const std::uint32_t at = count * sizeof(uint4);
  if (at != body) copy_single_bytes(step.to + at, step.from + at, body - at, lane, warpSize);
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

__device__ void run_step(const Step& step, unsigned lane) {
  switch (step.kind()) {
    case GpuOpKind::word:
      if (lane == 0) store_word(step.to, step.from, step.size);
      break;
    case GpuOpKind::cqe: store_cqe(step.to, step.from, step.is(Step::kOnHost), lane); break;
    case GpuOpKind::atomic:
      if (lane == 0) {
        GpuAtomic& atomic = *as<GpuAtomic>(step.from);
        atomic.old = atomic.request.size == 4 ? modify<std::uint32_t>(step.to, atomic.request)
                                              : modify<std::uint64_t>(step.to, atomic.request);
      }
      break;
    case GpuOpKind::bytes: break;  // see run_steps
  }
}

__device__ Step from_lane(const Step& step, unsigned lane) {
  Step out;
  out.to = __shfl_sync(kAllLanes, static_cast<unsigned long long>(step.to), lane);
  out.from = __shfl_sync(kAllLanes, static_cast<unsigned long long>(step.from), lane);
  out.size = __shfl_sync(kAllLanes, step.size, lane);
  out.what = __shfl_sync(kAllLanes, step.what, lane);
  return out;
}

// Each copy is read while the one before is on its way, if it may be.
__device__ void run_steps(const Step& own, std::uint32_t count, bool first, unsigned lane) {
  Held held;
  bool is_read = false;
  Step step = from_lane(own, 0);
#pragma unroll 1
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i != 0 || !first) order_operations(step.is(Step::kOnHost));
    const bool copies = step.kind() == GpuOpKind::bytes;
    if (copies && !is_read) read_copy(held, step, lane);
    if (copies) {
      store_body(held, step, lane);
    } else {
      run_step(step, lane);
    }
    const std::uint64_t word = held.last;
    const Step next = i + 1 < count ? from_lane(own, i + 1) : Step{};
    is_read = next.is(Step::kEarly);
    if (is_read) read_copy(held, next, lane);
    const std::uint32_t last = step.last();
    if (last != 0) {
      if (last != step.size) order_operations(step.is(Step::kOnHost));
      if (lane == 0) store_word(step.to + step.size - last, word, last);
    }
    step = next;
  }
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
    const std::uint32_t end = begin + warpSize;
    GpuOp upcoming;
    if (end < work.chain.count && lane < work.chain.count - end) {
      upcoming = read_operation(launch, work.chain.first + end + lane);
    }
    const Step step = step_of(own, lane);
    run_steps(step, min(work.chain.count - begin, static_cast<std::uint32_t>(warpSize)), begin == 0,
              lane);
    own = upcoming;
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
