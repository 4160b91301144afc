// The part of a symmetric heap that finds mistakes with memory (GDAKIT_CHECK_MEMORY).
//
//   | object | guard |   object   | guard | freed ............ | ...
//              ^ a pattern          ^       ^ the pattern, until the memory is used again
//
// Kernels are told of the objects in use instead of the chunks they lie in. So an operation that
// names memory beyond an object, here or on a peer, is refused where it is called, by the look-up
// that every operation makes; an object lies at the same offset on every PE, so this PE knows. A
// plain store asks nobody: it leaves its traces in the pattern, for which verify() looks.
//
// Memory that was freed is not used again before kKeptBytes of later ones were freed, or no other
// is left. All PEs make the same calls, so they come to the same places.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/endian.h"
#include "core/base/result.h"
#include "core/host/memory/allocations.h"
#include "core/host/memory/memory_provider.h"
#include "device/views.h"

namespace gdakit {

// What one of the NICs calls a chunk of the heap.
struct ChunkKeys {
  Be32 lkey{0};             // this PE's
  std::vector<Be32> rkeys;  // [pe]
};

class CheckedHeap {
 public:
  static constexpr std::uint64_t kGuardBytes = 1024;
  static constexpr std::uint64_t kKeptBytes = std::uint64_t{16} << 20;

  // Of the heap that begins at `base`, of a PE with so many NICs. What is given outlives it.
  CheckedHeap(MemoryProvider& memory, char* base, std::uint32_t nics,
              const Allocations& allocations)
      : memory_(memory), base_(base), nics_(nics), allocations_(allocations) {}

  // What an object of so many bytes takes of the heap.
  static std::uint64_t with_guard(std::uint64_t bytes);

  // More of the heap was registered, the bytes from `begin` to `end`, with these keys by NIC.
  void add_chunk(std::uint64_t begin, std::uint64_t end, const std::vector<ChunkKeys>& keys);

  // There is an object at `offset`.
  Result<void> add(std::uint64_t offset, std::uint64_t bytes);
  // There is none any more.
  Result<void> retire(std::uint64_t offset);
  // The offset of what was freed first and may be used again; nothing if there is none. `at_once`:
  // whatever was freed later.
  std::optional<std::uint64_t> reuse(bool at_once);

  // An error, in words, if the pattern is gone somewhere; it is put back there.
  Result<void> verify();

  // Until the next call of add or retire.
  void show(HeapView& view) const;

 private:
  struct Chunk {
    std::uint64_t begin;
    std::uint64_t end;
    std::vector<ChunkKeys> keys;  // [nic]
  };
  struct Slot {
    std::uint64_t bytes;
    bool in_use;
  };
  // What holds the pattern, by offset.
  struct Zone {
    std::uint64_t begin;
    std::uint64_t end;
  };

  static Zone zone_of(std::uint64_t offset, const Slot& slot);
  Result<void> fill(const Zone& zone);
  // The part of a zone that does not hold the pattern, from the first to the last such byte; empty
  // if all of it does.
  Result<Zone> find_traces(const Zone& zone) const;
  Error overwritten(const Slot& slot, const Zone& traces) const;
  Result<void> publish();
  void add_rows(std::uint32_t nic, std::uint64_t begin, std::uint64_t end);
  Result<void> write_table(std::unique_ptr<MemoryBlock>& table, const void* from,
                           std::uint64_t bytes);

  MemoryProvider& memory_;
  char* base_;
  const std::uint32_t nics_;
  const Allocations& allocations_;
  std::vector<Chunk> chunks_;               // ascending
  std::map<std::uint64_t, Slot> slots_;     // by offset
  std::deque<std::uint64_t> freed_;         // offsets, the oldest first
  std::uint64_t freed_bytes_ = 0;           // of these
  std::vector<LocalRange> rows_;            // [nic][row]: what kernels see
  std::vector<Be32> row_keys_;              // [nic][row][pe]
  std::unique_ptr<MemoryBlock> row_table_;  // rows_, for kernels
  std::unique_ptr<MemoryBlock> key_table_;  // row_keys_, likewise
};

}  // namespace gdakit
