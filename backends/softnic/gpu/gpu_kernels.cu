#include <algorithm>
#include <cuda/atomic>

#include "backends/softnic/gpu/gpu_kernels.cuh"
#include "core/base/bits.h"

namespace gdakit::softnic {
namespace {

constexpr unsigned kBatchThreads = 128;
constexpr unsigned kBatchBlocks = 64;
constexpr unsigned kBulkThreads = 512;
constexpr unsigned kBulkBlocksPerSm = 2;
constexpr unsigned kBulkVectors = kGpuChunkBytes / (kBulkThreads * sizeof(uint4));

template <class T>
using InSystem = cuda::atomic_ref<T, cuda::thread_scope_system>;
template <class T>
using InGpu = cuda::atomic_ref<T, cuda::thread_scope_device>;

// The first thread to come asks the host whether the launch still counts; all go by its answer.
__device__ bool begin(const GpuLaunch& launch) {
  __shared__ std::uint32_t verdict;
  if (threadIdx.x == 0) {
    GpuGate& gate = *launch.gate;
    if (InGpu<std::uint32_t>(gate.tickets).fetch_add(1, cuda::memory_order_relaxed) == 0) {
      GpuControl& control = *launch.control;
      InSystem<std::uint32_t>(control.started).store(1, cuda::memory_order_relaxed);
      // Orders   `started`
      // before   the look at `cancel`,
      // for      the host, which cancels and then looks whether the launch has started.
      cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_system);
      const bool cancelled =
          InSystem<std::uint32_t>(control.cancel).load(cuda::memory_order_relaxed) != 0;
      verdict = cancelled ? kVerdictCancelled : kVerdictGo;
      InSystem<std::uint32_t>(control.verdict).store(verdict, cuda::memory_order_relaxed);
      InGpu<std::uint32_t>(gate.verdict).store(verdict, cuda::memory_order_release);
    } else {
      do {
        verdict = InGpu<std::uint32_t>(gate.verdict).load(cuda::memory_order_acquire);
      } while (verdict == 0);
    }
  }
  __syncthreads();
  return verdict == kVerdictGo;
}

// The next of the launch's pieces of work that nobody has taken.
__device__ std::uint64_t take(const GpuLaunch& launch) {
  return InGpu<std::uint64_t>(launch.gate->next).fetch_add(1, cuda::memory_order_relaxed);
}

// `count` pieces of work are done, and this thread comes after all their stores.
__device__ void finish(const GpuLaunch& launch, std::uint64_t count) {
  InGpu<std::uint64_t> done(launch.gate->done);
  const bool all = count == launch.work ||
                   done.fetch_add(count, cuda::memory_order_acq_rel) + count == launch.work;
  if (!all) return;
  // Orders   all stores of the launch
  // before   `finished`,
  // for      the host, which then lets others go on that rely on them.
  InSystem<std::uint32_t>(launch.control->finished).store(1, cuda::memory_order_release);
}

// The last block to leave makes the gate fit for the next launch, then gives it back.
__device__ void leave(const GpuLaunch& launch) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  InGpu<std::uint32_t> left(launch.gate->left);
  if (left.fetch_add(1, cuda::memory_order_acq_rel) + 1 != gridDim.x) return;
  *launch.gate = GpuGate{};
  InSystem<std::uint32_t>(launch.control->left).store(1, cuda::memory_order_release);
}

template <class Word>
__device__ Word* as(std::uint64_t address) {
  return reinterpret_cast<Word*>(address);
}

__device__ void store_word(std::uint64_t to, std::uint64_t value, std::uint32_t size) {
  const auto store = [to](auto word) {
    InSystem<decltype(word)>(*as<decltype(word)>(to)).store(word, cuda::memory_order_relaxed);
  };
  switch (size) {
    case 1: store(static_cast<std::uint8_t>(value)); break;
    case 2: store(static_cast<std::uint16_t>(value)); break;
    case 4: store(static_cast<std::uint32_t>(value)); break;
    default: store(value); break;
  }
}

template <class Vector>
__device__ void copy_vectors(std::uint64_t to, std::uint64_t from, std::uint64_t size,
                             unsigned lane, unsigned lanes) {
  constexpr unsigned kAhead = 4;
  const std::uint64_t count = size / sizeof(Vector);
  const Vector* const source = as<const Vector>(from);
  Vector* const target = as<Vector>(to);
  std::uint64_t at = lane;
  for (; at + (kAhead - 1) * lanes < count; at += kAhead * lanes) {
    Vector held[kAhead];
#pragma unroll
    for (unsigned i = 0; i < kAhead; ++i) held[i] = __ldcg(source + at + i * lanes);
#pragma unroll
    for (unsigned i = 0; i < kAhead; ++i) __stcg(target + at + i * lanes, held[i]);
  }
  for (; at < count; at += lanes) __stcg(target + at, __ldcg(source + at));
}

__device__ void copy_single_bytes(std::uint64_t to, std::uint64_t from, std::uint64_t size,
                                  unsigned lane, unsigned lanes) {
  copy_vectors<unsigned char>(to, from, size, lane, lanes);
}

// In vectors as long as both sides' alignment allows.
template <class Vector>
__device__ bool copy_aligned(std::uint64_t to, std::uint64_t from, std::uint64_t size,
                             unsigned lane, unsigned lanes) {
  if ((to ^ from) % sizeof(Vector) != 0) return false;
  std::uint64_t head = (sizeof(Vector) - to % sizeof(Vector)) % sizeof(Vector);
  if (head > size) head = size;
  const std::uint64_t body = (size - head) / sizeof(Vector) * sizeof(Vector);
  copy_single_bytes(to, from, head, lane, lanes);
  copy_vectors<Vector>(to + head, from + head, body, lane, lanes);
  copy_single_bytes(to + head + body, from + head + body, size - head - body, lane, lanes);
  return true;
}

__device__ void copy_any(std::uint64_t to, std::uint64_t from, std::uint64_t size, unsigned lane,
                         unsigned lanes) {
  if (copy_aligned<uint4>(to, from, size, lane, lanes)) return;
  if (copy_aligned<unsigned long long>(to, from, size, lane, lanes)) return;
  if (copy_aligned<unsigned>(to, from, size, lane, lanes)) return;
  copy_single_bytes(to, from, size, lane, lanes);
}

__device__ std::uint64_t load_word(std::uint64_t from, std::uint32_t size) {
  if (size == 8 && from % 8 == 0) return __ldcg(as<const unsigned long long>(from));
  if (size == 4 && from % 4 == 0) return __ldcg(as<const unsigned>(from));
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    value |= std::uint64_t{__ldcg(as<const unsigned char>(from + i))} << (8 * i);
  }
  return value;
}

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

// All of the chunk but its last `tail` bytes.
__device__ void copy_chunk(std::uint64_t to, std::uint64_t from, std::uint64_t size,
                           std::uint64_t tail) {
  if (size != kGpuChunkBytes || to % sizeof(uint4) != 0 || from % sizeof(uint4) != 0) {
    copy_any(to, from, size - tail, threadIdx.x, kBulkThreads);
    return;
  }
  const uint4* const source = as<const uint4>(from) + threadIdx.x;
  uint4* const target = as<uint4>(to) + threadIdx.x;
  uint4 held[kBulkVectors];
#pragma unroll
  for (unsigned i = 0; i < kBulkVectors; ++i) held[i] = __ldcg(source + i * kBulkThreads);
  constexpr unsigned kLast = kBulkVectors - 1;
#pragma unroll
  for (unsigned i = 0; i < kLast; ++i) __stcg(target + i * kBulkThreads, held[i]);
  uint4* const last = target + kLast * kBulkThreads;
  if (tail == 0 || threadIdx.x != kBulkThreads - 1) {
    __stcg(last, held[kLast]);
  } else {  // the chunk's end is aligned, so that the tail is eight bytes
    __stcg(reinterpret_cast<uint2*>(last), make_uint2(held[kLast].x, held[kLast].y));
  }
}

// The piece that the chunk belongs to.
__device__ GpuPiece find_piece(const GpuPiece* pieces, std::uint32_t count, std::uint64_t chunk) {
  std::uint32_t low = 0;
  while (count > 1) {
    const std::uint32_t half = count / 2;
    if (pieces[low + half].first_chunk <= chunk) {
      low += half;
      count -= half;
    } else {
      count = half;
    }
  }
  return pieces[low];
}

// Waits until the first `after` chunks are done. What the block has copied so far is made known
// first, for others may wait for it.
__device__ void wait_for_chunks(const GpuLaunch& launch, std::uint64_t after,
                                std::uint64_t copied) {
  // Orders   this block's chunks so far
  // before   the count of chunks done,
  // for      blocks whose chunks come after them.
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (copied != 0) finish(launch, copied);
    while (InGpu<std::uint64_t>(launch.gate->done).load(cuda::memory_order_acquire) < after) {
    }
  }
  __syncthreads();
}

// The last words of a chain's copies, one after the other, once the copies before them are done.
// Out of line, for it needs registers that the copies have better use for.
__device__ __noinline__ void store_last_words(const GpuPiece* pieces, std::uint64_t count) {
  const unsigned lane = threadIdx.x;
  if (lane >= warpSize) return;
  for (std::uint64_t begin = 0; begin < count; begin += warpSize) {
    GpuPiece own;
    if (lane < count - begin) own = pieces[begin + lane];
    const std::uint64_t at = own.size - own.tail;
    const auto size = static_cast<std::uint32_t>(own.tail);
    std::uint64_t value = 0;
    if (size != 0) value = load_word(own.from + at, size);
    for (unsigned left = __ballot_sync(0xffffffffu, size != 0); left != 0; left &= left - 1) {
      if (lane + 1 == static_cast<unsigned>(__ffs(static_cast<int>(left)))) {
        // Orders   the copies that are known to be done, and the last words so far
        // before   the next last word,
        // for      threads of this GPU that poll it.
        __threadfence();
        store_word(own.to + at, value, size);
      }
      __syncwarp();
    }
  }
}

// Chunks are taken in order, so that the blocks that hold the earlier ones are running: waiting for
// them ends.
__global__ void __launch_bounds__(kBulkThreads)
    bulk_kernel(const __grid_constant__ GpuLaunch launch) {
  if (launch.control == nullptr) return;
  __shared__ GpuPiece cached[kGpuFewPieces];
  __shared__ std::uint64_t chunk;
  if (begin(launch)) {
    const bool few = launch.piece_count <= kGpuFewPieces;
    if (few && threadIdx.x < launch.piece_count) cached[threadIdx.x] = launch.pieces[threadIdx.x];
    std::uint64_t upcoming = threadIdx.x == 0 ? take(launch) : 0;
    std::uint64_t copied = 0;  // and not made known yet
    std::uint64_t passed = 0;  // so many chunks are known to be done
    while (true) {
      if (threadIdx.x == 0) chunk = upcoming;
      __syncthreads();
      const std::uint64_t number = chunk;
      __syncthreads();
      if (number >= launch.work) break;
      if (threadIdx.x == 0) upcoming = take(launch);
      const GpuPiece piece = find_piece(few ? cached : launch.pieces, launch.piece_count, number);
      if (piece.after > passed) {
        wait_for_chunks(launch, piece.after, copied);
        passed = piece.after;
        copied = 0;
      }
      ++copied;
      if (piece.from == 0) {
        store_last_words((few ? cached : launch.pieces) + piece.to, piece.size);
        continue;
      }
      const std::uint64_t at = (number - piece.first_chunk) * kGpuChunkBytes;
      const std::uint64_t left = piece.size - at;
      const bool last = left - piece.tail <= kGpuChunkBytes;
      copy_chunk(piece.to + at, piece.from + at, last ? left : kGpuChunkBytes,
                 last ? piece.tail : 0);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && copied != 0) finish(launch, copied);
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

void launch_bulk_kernel(cudaStream_t stream, const GpuLaunch& launch, int multiprocessors) {
  const auto most = static_cast<std::uint64_t>(multiprocessors) * kBulkBlocksPerSm;
  const std::uint64_t blocks = std::min<std::uint64_t>(launch.work, most);
  bulk_kernel<<<static_cast<unsigned>(blocks), kBulkThreads, 0, stream>>>(launch);
}

cudaError_t load_kernels(cudaStream_t stream) {
  batch_kernel<<<1, kBatchThreads, 0, stream>>>(GpuLaunch{});
  bulk_kernel<<<1, kBulkThreads, 0, stream>>>(GpuLaunch{});
  const cudaError_t launched = cudaGetLastError();
  return launched != cudaSuccess ? launched : cudaStreamSynchronize(stream);
}

}  // namespace gdakit::softnic
