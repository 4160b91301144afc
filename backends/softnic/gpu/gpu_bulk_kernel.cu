// The helper kernel of copies of more than kGpuSmallCopy bytes: a run of marked ones of a chunk or
// less by one block, the others by all blocks together.
//
// A block has warps that copy and one that keeps order: it takes chunks, waits for other blocks,
// tells them, and stores last words. A fence waits for all that its own warp has under way; so the
// warps that copy may read ahead meanwhile.
#include <algorithm>
#include <cuda/atomic>

#include "backends/softnic/gpu/gpu_kernel_parts.cuh"
#include "backends/softnic/gpu/gpu_kernels.cuh"

namespace gdakit::softnic {
namespace {

constexpr unsigned kThreads = 512;  // that copy
constexpr unsigned kBlockThreads = kThreads + 32;
constexpr unsigned kBlocksPerSm = 2;
constexpr unsigned kVectors = kGpuChunkBytes / (kThreads * sizeof(uint4));
constexpr unsigned kMessagesAtHand = 64;
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ bool copies() { return threadIdx.x < kThreads; }
// The first thread of the warp that keeps order.
__device__ bool leads() { return threadIdx.x == kThreads; }

// What a thread holds of a chunk that is aligned at both ends: every kThreads-th vector, and
// perhaps a byte of what is left behind the last one.
struct Held {
  uint4 vectors[kVectors];
  unsigned char rest;
};

__device__ bool in_vectors(std::uint64_t to, std::uint64_t from) {
  return (to | from) % sizeof(uint4) == 0;
}

__device__ void read_chunk(Held& held, std::uint64_t from, std::uint64_t size) {
  const auto count = static_cast<unsigned>(size / sizeof(uint4));
  const uint4* const source = as<const uint4>(from) + threadIdx.x;
#pragma unroll
  for (unsigned i = 0; i < kVectors; ++i) {
    const unsigned at = i * kThreads;
    if (at + threadIdx.x < count) held.vectors[i] = __ldcg(source + at);
  }
  const std::uint64_t at = count * sizeof(uint4) + threadIdx.x;
  if (at < size) held.rest = __ldcg(as<const unsigned char>(from + at));
}

__device__ void store_chunk(const Held& held, std::uint64_t to, std::uint64_t size) {
  const auto count = static_cast<unsigned>(size / sizeof(uint4));
  uint4* const target = as<uint4>(to) + threadIdx.x;
#pragma unroll
  for (unsigned i = 0; i < kVectors; ++i) {
    const unsigned at = i * kThreads;
    if (at + threadIdx.x < count) __stcg(target + at, held.vectors[i]);
  }
  const std::uint64_t at = count * sizeof(uint4) + threadIdx.x;
  if (at < size) __stcg(as<unsigned char>(to + at), held.rest);
}

__device__ void copy_unaligned(std::uint64_t to, std::uint64_t from, std::uint64_t size) {
  copy_any(to, from, size, threadIdx.x, kThreads);
}

struct LastWord {
  std::uint64_t to = 0;
  std::uint64_t value = 0;
  std::uint32_t size = 0;
};

__device__ LastWord read_last_word(const GpuPiece& copy) {
  const std::uint64_t at = copy.size - copy.tail;
  LastWord word;
  word.to = copy.to + at;
  word.size = copy.tail;
  if (word.size != 0) word.value = load_word(copy.from + at, word.size);
  return word;
}

// Where a block is; in shared memory, for the leader to write.
struct Place {
  std::uint64_t number = 0;    // the chunk that it is at
  std::uint64_t upcoming = 0;  // ... and the next one
  std::uint64_t passed = 0;    // so many chunks are known to be whole
  std::uint64_t copied = 0;    // chunks that it has told nobody of,
  std::uint32_t piece = 0;     // the last of which is of this piece
  std::uint32_t telling = 0;   // ... or of this one, and the block is past its level
  std::uint64_t told = 0;      // how many they are then; 0: there is nothing to tell
  bool waits = false;          // for other blocks, before it stores
};

// Tells of the block's chunks of a level, as all its warps have copied them. The block that is the
// last of the level stores the last words of the level's copies, each of which is of a chain of its
// own, and makes the level whole. By the warp that keeps order.
__device__ void tell(const GpuLaunch& launch, const GpuPiece* pieces, const GpuPiece& level,
                     std::uint64_t copied) {
  const GpuPiece* const of_level = pieces + level.first_copy;
  std::uint32_t copy = threadIdx.x - kThreads;
  LastWord word;
  if (copy < level.copy_count) word = read_last_word(of_level[copy]);
  // Orders   this block's chunks so far
  // before   the count of chunks done,
  // for      the block that is the level's last.
  std::uint64_t done = copied;
  if (leads() && copied != launch.work) {
    done += InGpu<std::uint64_t>(launch.gate->done).fetch_add(copied, cuda::memory_order_acq_rel);
  }
  if (__shfl_sync(kAllLanes, static_cast<unsigned long long>(done), 0) != level.until) return;
  // What the first lane has seen by its count is before what the others store.
  __syncwarp();
  while (copy < level.copy_count) {
    if (word.size != 0) {
      // Orders   all chunks of the level
      // before   the last word of one of its copies,
      // for      threads of this GPU that poll it.
      __threadfence();
      store_word(word.to, word.value, word.size);
    }
    copy += warpSize;
    if (copy < level.copy_count) word = read_last_word(of_level[copy]);
  }
  __syncwarp();
  if (!leads()) return;
  // Orders   all stores of the level, and of those before
  // before   the word that says so,
  // for      blocks with chunks of the next level; or the host, which then lets others go on.
  if (level.until == launch.work) {
    InSystem<std::uint32_t>(launch.control->finished).store(1, cuda::memory_order_release);
  } else {
    InGpu<std::uint64_t>(launch.gate->whole).store(level.until, cuda::memory_order_release);
  }
}

// The piece that the chunk belongs to.
__device__ std::uint32_t find_piece(const GpuPiece* pieces, std::uint32_t count,
                                    std::uint64_t chunk) {
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
  return low;
}

// To the block's next chunk, if there is one. What it has copied of one level it tells before it
// waits for another.
__device__ void go_on(const GpuLaunch& launch, const GpuPiece* pieces, Place& place) {
  place.number = place.upcoming;
  place.told = 0;
  const bool more = place.number < launch.work;
  const std::uint32_t piece =
      more ? find_piece(pieces, launch.piece_count, place.number) : place.piece;
  if (place.copied != 0 && (!more || pieces[piece].after != pieces[place.piece].after)) {
    place.told = place.copied;
    place.telling = place.piece;
    place.copied = 0;
  }
  ++place.copied;
  place.piece = piece;
  place.waits = more && pieces[piece].after > place.passed;
}

// What there is to do between the chunk before and this one. By the warp that keeps order.
__device__ void keep_order(const GpuLaunch& launch, const GpuPiece* pieces, Place& place) {
  if (place.told != 0) tell(launch, pieces, pieces[place.telling], place.told);
  if (!leads() || place.number >= launch.work) return;
  place.upcoming = take(launch);
  if (!place.waits) return;
  place.passed = pieces[place.piece].after;
  while (InGpu<std::uint64_t>(launch.gate->whole).load(cuda::memory_order_acquire) < place.passed) {
  }
}

// All of the copy's chunk but, of the last one, the last word.
struct Chunk {
  std::uint64_t to;
  std::uint64_t from;
  std::uint64_t size;
};

__device__ Chunk chunk_of(const GpuPiece& piece, std::uint64_t number) {
  const std::uint64_t at = (number - piece.first_chunk) * kGpuChunkBytes;
  const std::uint64_t left = piece.size - piece.tail - at;
  return {piece.to + at, piece.from + at, left < kGpuChunkBytes ? left : kGpuChunkBytes};
}

// The first thread has the last word.
__device__ void read_message(Held& held, std::uint64_t& word, const GpuMessage& message) {
  const std::uint64_t body = message.size - message.tail;
  if (in_vectors(message.to, message.from)) read_chunk(held, message.from, body);
  if (threadIdx.x == 0) {
    word = load_word(message.from + body, static_cast<std::uint32_t>(message.tail));
  }
}

__device__ void store_message(const Held& held, const GpuMessage& message) {
  const std::uint64_t body = message.size - message.tail;
  if (in_vectors(message.to, message.from)) {
    store_chunk(held, message.to, body);
  } else {
    copy_unaligned(message.to, message.from, body);
  }
}

// Each message is read while the one before is on its way, if it may be.
__device__ void copy_messages_at_hand(const GpuMessage* messages, unsigned count) {
  __shared__ std::uint64_t last_word;
  Held held;
  std::uint64_t word = 0;
  bool is_read = false;
#pragma unroll 1
  for (unsigned i = 0; i < count; ++i) {
    const GpuMessage& message = messages[i];
    if (copies()) {
      if (!is_read) read_message(held, word, message);
      store_message(held, message);
      if (threadIdx.x == 0) last_word = word;
      is_read = i + 1 < count &&
                !overlap(messages[i + 1].from, messages[i + 1].size, message.to, message.size);
      if (is_read) read_message(held, word, messages[i + 1]);
    }
    __syncthreads();
    if (leads()) {
      // Orders   the block's copy of the message
      // before   its last word,
      // for      threads of this GPU that poll it.
      __threadfence();
      store_word(message.to + message.size - message.tail, last_word,
                 static_cast<std::uint32_t>(message.tail));
      // Orders   the last word
      // before   the next message,
      // for      the same threads.
      __threadfence();
    }
    __syncthreads();
  }
}

// Out of line, as are the registers for it.
__device__ __noinline__ void copy_messages(const GpuMessage* messages, std::uint64_t count) {
  __shared__ GpuMessage at_hand[kMessagesAtHand];
  constexpr unsigned kVectorsOfMessage = sizeof(GpuMessage) / sizeof(uint4);
  for (std::uint64_t begin = 0; begin < count; begin += kMessagesAtHand) {
    const std::uint64_t left = count - begin;
    const unsigned now = left < kMessagesAtHand ? static_cast<unsigned>(left) : kMessagesAtHand;
    if (threadIdx.x < now * kVectorsOfMessage) {
      const auto* const source = reinterpret_cast<const uint4*>(messages + begin);
      reinterpret_cast<uint4*>(at_hand)[threadIdx.x] = __ldcg(source + threadIdx.x);
    }
    __syncthreads();
    copy_messages_at_hand(at_hand, now);
  }
}

// Chunks are taken in order, so that the blocks that hold the earlier ones are running: waiting for
// them ends. One that may have messages needs registers for them: fewer of its blocks fit.
template <bool kHasMessages>
__global__ void __launch_bounds__(kBlockThreads, kHasMessages ? 1 : kBlocksPerSm)
    bulk_kernel(const __grid_constant__ GpuLaunch launch) {
  if (launch.control == nullptr) return;
  __shared__ GpuPiece cached[kGpuFewPieces];
  __shared__ Place place;
  if (begin(launch)) {
    const bool few = launch.piece_count <= kGpuFewPieces;
    if (few && threadIdx.x < launch.piece_count) cached[threadIdx.x] = launch.pieces[threadIdx.x];
    const GpuPiece* const pieces = few ? cached : launch.pieces;
    if (leads()) {
      place = Place{};
      place.upcoming = take(launch);
    }
    while (true) {
      __syncthreads();
      if (leads()) go_on(launch, pieces, place);
      __syncthreads();
      const GpuPiece& piece = pieces[place.piece];
      const bool more = place.number < launch.work;
      const bool is_copy = more && piece.from != 0;
      const Chunk chunk = is_copy ? chunk_of(piece, place.number) : Chunk{};
      const bool vectors = in_vectors(chunk.to, chunk.from);
      const bool early = vectors && piece.early != 0;
      Held held;
      if (!copies()) {
        keep_order(launch, pieces, place);
      } else if (is_copy && early) {
        read_chunk(held, chunk.from, chunk.size);
      }
      if (!more) break;
      if (place.waits) __syncthreads();
      if (!is_copy) {
        if constexpr (kHasMessages) copy_messages(launch.messages + piece.to, piece.size);
      } else if (copies() && vectors) {
        if (!early) read_chunk(held, chunk.from, chunk.size);
        store_chunk(held, chunk.to, chunk.size);
      } else if (copies()) {
        copy_unaligned(chunk.to, chunk.from, chunk.size);
      }
    }
  }
  leave(launch);
}

}  // namespace

void launch_bulk_kernel(cudaStream_t stream, const GpuLaunch& launch, int multiprocessors) {
  const bool messages = launch.messages != nullptr;
  const auto most = static_cast<std::uint64_t>(multiprocessors) * (messages ? 1 : kBlocksPerSm);
  const std::uint64_t blocks = std::clamp<std::uint64_t>(launch.work, 1, most);
  const auto kernel = messages ? bulk_kernel<true> : bulk_kernel<false>;
  kernel<<<static_cast<unsigned>(blocks), kBlockThreads, 0, stream>>>(launch);
}

cudaError_t load_bulk_kernels(cudaStream_t stream) {
  bulk_kernel<true><<<1, kBlockThreads, 0, stream>>>(GpuLaunch{});
  bulk_kernel<false><<<1, kBlockThreads, 0, stream>>>(GpuLaunch{});
  return cudaGetLastError();
}

}  // namespace gdakit::softnic
