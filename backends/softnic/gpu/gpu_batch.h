// The words that host and GPU exchange about a launch of the DMA port's helper kernels.
//
//   GpuLaunch (kernel argument) --> chains[]  --> ops[]            pinned host memory; few chains
//                                                                 lie in the argument itself
//                               --> pieces[]  --> messages[]  (bulk copies)
//                               --> GpuControl                     pinned: the handshake
//                               --> GpuGate                        GPU memory: the blocks' own
//
// A chain is a run of operations that become visible one after the other; chains run side by side.
// All pointers are the GPU's, which are the host's for pinned memory.
#pragma once

#include <cstdint>

#include "backends/softnic/dma/atomics.h"

namespace gdakit::softnic {

enum class GpuOpKind : std::uint32_t {
  word,    // stores `from` itself: 1, 2, 4 or 8 bytes, naturally aligned
  bytes,   // copies `size` bytes from the address `from`
  cqe,     // 64 bytes from the address `from`, the last eight last
  atomic,  // `from` is the address of a GpuAtomic
};

struct alignas(32) GpuOp {
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::uint32_t size = 0;
  GpuOpKind kind = GpuOpKind::word;
  std::uint32_t on_host = 0;  // `to` lies in pinned host memory
  std::uint32_t tail = 0;     // of bytes: so many, a word, are stored last; 0: in any order
};
static_assert(sizeof(GpuOp) == 32);

struct GpuAtomic {
  AtomicRequest request;
  std::uint64_t old = 0;
};

struct GpuChain {
  std::uint32_t first = 0;  // of ops
  std::uint32_t count = 0;
};

inline constexpr std::uint64_t kGpuChunkBytes = 32 * 1024;

// A copy within the GPU of one chunk at most, of which the last word comes last.
struct alignas(32) GpuMessage {
  std::uint64_t to = 0;
  std::uint64_t from = 0;
  std::uint64_t size = 0;
  std::uint64_t tail = 0;  // so many bytes, the last word
};
static_assert(sizeof(GpuMessage) == 32);

// A large copy within the GPU, which all blocks share, or messages that one block copies one after
// the other. Chunks are counted over all pieces of a launch. Pieces come level by level; those of a
// level run side by side, and behind all of a level come the last words that its copies left out.
struct GpuPiece {
  std::uint64_t to = 0;    // of messages: the first one's number
  std::uint64_t from = 0;  // 0: messages; they are one chunk
  std::uint64_t size = 0;  // of messages: how many
  std::uint64_t first_chunk = 0;
  std::uint64_t after = 0;       // chunks of earlier levels: stores nothing before they are whole
  std::uint64_t until = 0;       // ... and of this level
  std::uint32_t tail = 0;        // of a copy: so many bytes, the last word; 0: in any order
  std::uint32_t early = 0;       // of a copy: it may read before that
  std::uint32_t first_copy = 0;  // the level's copies among the pieces
  std::uint32_t copy_count = 0;
};
static_assert(sizeof(GpuPiece) == 64);
// So few pieces each block keeps at hand; more it reads from host memory with each chunk.
inline constexpr std::uint32_t kGpuFewPieces = 64;

// What a launch and the host tell each other. The host may cancel a launch that has not begun: it
// sets `cancel`, then reads `started`; the kernel sets `started`, then reads `cancel`, both with a
// full fence between, so that one of them sees the other. If both do, the verdict decides.
struct GpuControl {
  alignas(64) std::uint32_t cancel = 0;   // these two are written by the host
  std::uint64_t issued_ns = 0;            // steady clock: when CUDA took the launch, or 0
  alignas(64) std::uint32_t started = 0;  // the rest by the kernel
  std::uint32_t verdict = 0;
  std::uint32_t finished = 0;  // all operations are visible
  std::uint32_t left = 0;      // no block will run any more
};
static_assert(sizeof(GpuControl) == 128);
inline constexpr std::uint32_t kVerdictGo = 1;
inline constexpr std::uint32_t kVerdictCancelled = 2;

// Counters of the blocks of one launch, in GPU memory; zero between launches. Whatever blocks find
// room do all the work, so that a launch needs no more than one.
struct alignas(64) GpuGate {
  std::uint32_t tickets = 0;
  std::uint32_t verdict = 0;
  std::uint32_t left = 0;
  std::uint32_t pad = 0;
  std::uint64_t next = 0;
  std::uint64_t done = 0;
  alignas(64) std::uint64_t whole =
      0;  // so many chunks, the first ones, have their last words, too
};
static_assert(sizeof(GpuGate) == 128);

// So many chains travel with the launch itself.
inline constexpr std::uint32_t kGpuFewChains = 16;

struct GpuLaunch {
  GpuControl* control = nullptr;
  GpuGate* gate = nullptr;
  const GpuOp* ops = nullptr;
  const GpuChain* chains = nullptr;
  const GpuPiece* pieces = nullptr;
  const GpuMessage* messages = nullptr;  // null: there are none
  std::uint32_t piece_count = 0;
  std::uint64_t work = 0;              // chains, or chunks
  GpuChain few_chains[kGpuFewChains];  // the chains again, if they are so few
};

}  // namespace gdakit::softnic
