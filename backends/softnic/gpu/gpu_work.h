// GpuWork: what a port wants done to memory in one go, sorted so that helper kernels can run it.
//
//   queue order   A1 B1 A2 A3(large) B2 A4
//   level 0       A: 1 2   B: 1 2            small operations, a warp for each chain
//   level 1       A: 3                       large copies, all blocks together
//   level 2       A: 4
//
// Levels run one after the other, even ones with small operations and odd ones with large copies.
// What a chain has at one level of large copies is either of two things:
//   - messages of one chunk at most, as many as come: one block copies them one after the other;
//   - copies of a single message, side by side. One that touches what an earlier one of its chain
//     writes, or writes what that one reads, goes to a level of its own.
// So no byte of a message is seen before the message before it is whole.
//
// A prompt work is one whose operations count as done when they are queued. What is queued later
// may rely on them, whatever its chain: all are of one chain.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "backends/softnic/gpu/gpu_batch.h"
#include "backends/softnic/objects/attributes.h"
#include "core/format/cqe.h"

namespace gdakit::softnic {

enum class WorkKind : std::uint8_t { word, bytes, copy, cqe, atomic };

// A copy that is longer than this is for the bulk kernel.
inline constexpr std::uint64_t kGpuSmallCopy = 8192;

constexpr bool is_word(DmaAddress to, std::uint64_t size) {
  return (size == 1 || size == 2 || size == 4 || size == 8) && plain_address(to) % size == 0;
}

// The longest aligned word, of up to 8 bytes, that ends a range of `size` bytes; 0 if that is all.
constexpr std::uint32_t last_word(DmaAddress to, std::uint64_t size) {
  if (size == 0 || is_word(to, size)) return 0;
  std::uint32_t word = 8;
  while (word >= size || (plain_address(to) + size) % word != 0) word /= 2;
  return word;
}

struct WorkOp {
  WorkKind kind = WorkKind::word;
  bool across = false;  // a copy between two GPUs
  DmaAddress to;
  DmaAddress from;          // copy
  std::uint64_t value = 0;  // word
  std::uint64_t size = 0;   // bytes
  std::uint32_t extra = 0;  // bytes, cqe: where they begin in GpuWork::bytes; atomic: its number
  std::uint32_t tail = 0;   // bytes, copy: so many, the last word, come last; 0: in any order
  std::uint32_t list = 0;   // which WorkList it is in
  std::uint32_t next = 0;   // of that list
  bool early = false;       // large copy: no earlier one of its chain writes what it reads
};

struct WorkAtomic {
  AtomicRequest request;
  std::uint64_t result = 0;
  std::uint64_t* old = nullptr;      // where the engine wants the result
  const GpuAtomic* place = nullptr;  // where a kernel leaves it
  std::uint32_t op = 0;
};

// A range of addresses that holds several; empty at first.
struct WorkHull {
  std::uint64_t begin = ~std::uint64_t{0};
  std::uint64_t end = 0;

  bool touches(DmaAddress at, std::uint64_t size) const {
    return plain_address(at) < end && plain_address(at) + size > begin;
  }
  void take_in(DmaAddress at, std::uint64_t size) {
    begin = begin < plain_address(at) ? begin : plain_address(at);
    end = end > plain_address(at) + size ? end : plain_address(at) + size;
  }
  void take_in(const WorkHull& other) {
    begin = begin < other.begin ? begin : other.begin;
    end = end > other.end ? end : other.end;
  }
};

// The operations of one chain at one level.
struct WorkList {
  std::uint32_t level = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t count = 0;
  bool run = false;    // of large copies: messages, one after the other
  bool ended = false;  // ... the last one ends its message
  WorkHull written;    // by them
  WorkHull read;
  WorkHull before;  // written by those of the levels before, with nothing small between
};

// What there is at one level.
struct WorkLevel {
  std::uint32_t chains = 0;
  std::uint32_t ops = 0;
  std::uint32_t pieces = 0;  // of large copies: as a kernel has them (GpuPiece)
};

class GpuWork {
 public:
  // Owned by its port while filling and once finished, by the order between.
  enum class State : std::uint8_t { filling, waiting, launched, finished };

  std::atomic<State> state{State::filling};
  std::vector<WorkOp> ops;  // in the order queued
  std::vector<std::byte> bytes;
  std::vector<WorkAtomic> atomics;
  std::vector<WorkList> lists;
  std::vector<WorkLevel> levels;
  const void* owner = nullptr;  // the port
  bool prompt = false;
  bool engine_only = false;   // has operations that no kernel can do
  bool wants_kernel = false;  // has some that the copy engine does by way of the host alone

  // How far it is.
  std::uint32_t next_level = 0;  // levels before it are launched
  bool complete = false;
  std::uint32_t next_op = 0;  // through the copy engine: operations before it are issued
  std::uint64_t copied = 0;   // ... of a long copy
  bool reading = false;       // ... a word is on its way to the host

  WorkLevel level(std::uint32_t number) const {
    return number < levels.size() ? levels[number] : WorkLevel{};
  }
  bool launched() const { return next_level == levels.size(); }
  void clear();

  // Operations take their bytes at once. `chain` as in DmaPort::order_chain.
  void add_word(std::uint64_t chain, DmaAddress to, std::uint64_t value, std::uint64_t size);
  // `tail`: last_word() of a range whose last byte is to be seen last, or 0.
  void add_bytes(std::uint64_t chain, DmaAddress to, const void* from, std::uint64_t size,
                 std::uint32_t tail);
  void add_copy(std::uint64_t chain, DmaAddress to, DmaAddress from, std::uint64_t size,
                bool across, std::uint32_t tail);
  void add_cqe(std::uint64_t chain, DmaAddress to, const format::Cqe64& cqe);
  void add_atomic(std::uint64_t chain, DmaAddress at, const AtomicRequest& request,
                  std::uint64_t* old);

 private:
  struct Slot {
    std::uint64_t chain = 0;
    std::uint32_t list = 0;
  };
  static constexpr std::uint32_t kNoList = ~0u;

  void add(std::uint64_t chain, WorkOp op, bool bulk);
  static bool may_join(const WorkList& list, const WorkOp& op, bool bulk);
  void start_list(Slot& slot, const WorkOp& op, bool bulk);
  std::uint32_t stage(const void* from, std::uint64_t size);
  Slot& find(std::uint64_t chain);

  std::vector<Slot> slots_;  // an open-addressed table of the chains' newest lists
  std::uint32_t chains_ = 0;
};

}  // namespace gdakit::softnic
