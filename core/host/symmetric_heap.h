// The symmetric heap of one PE: memory in which an object lies at the same offset on every PE.
//
//   base                                                             base + heap_limit
//   |--- arena ---|--- chunk ---|--- chunk ---| . . . addresses reserved, no memory yet . . .|
//     registered as one chunk     registered one by one, when an allocation does not fit
//
// allocate and free are collective: all PEs call in the same order with the same sizes. A PE that
// calls with another size is an error on every PE, which names who asked for what.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/options.h"
#include "core/host/backend.h"
#include "core/host/memory/allocations.h"
#include "core/host/memory/checked_heap.h"
#include "core/host/memory/heap_allocator.h"
#include "core/host/memory/memory_provider.h"
#include "core/host/nic_keys.h"
#include "core/host/transport_map.h"
#include "device/views.h"

namespace gdakit {

class SymmetricHeap {
 public:
  // Collective. Reserves the addresses and makes the arena.
  static Result<std::unique_ptr<SymmetricHeap>> create(const Options& options, Bootstrap& bootstrap,
                                                       Backend& backend, MemoryProvider& memory);
  ~SymmetricHeap();
  SymmetricHeap(const SymmetricHeap&) = delete;
  SymmetricHeap& operator=(const SymmetricHeap&) = delete;

  // Collective. Zeroed when its memory is new; what an earlier object left there otherwise. Aligned
  // to kHeapAlignment. Reports call it `name`, which may be empty and is this PE's own matter.
  // Errors: beyond the heap's limit (exhausted); sizes differ (invalid_argument).
  Result<void*> allocate(std::uint64_t bytes, std::string name = {});
  // The same for what gdakit itself keeps there.
  Result<void*> allocate_own(std::uint64_t bytes, std::string name);
  // Collective. Errors: not the address of an object (invalid_argument).
  Result<void> free(void* address);

  bool contains(const void* address) const;
  // Whether an address is one of those that are the heap's, with memory or without. Any thread may
  // ask.
  bool reserves(const void* address) const;
  // What lies at an address: "'counts' (4096 bytes) + 256", "64 bytes behind allocation 3 (4096
  // bytes)". Any thread may ask.
  std::string describe(const void* address) const;
  // By offset from base(). Any thread may ask.
  const Allocations& allocations() const { return allocations_; }
  char* base() const { return range_->base(); }
  std::uint64_t bytes_in_use() const { return allocator_.bytes_in_use(); }
  std::uint64_t size() const { return allocator_.size(); }

  // The heap's memory, for those who must keep it longer than the heap.
  const std::shared_ptr<AddressRange>& memory() const { return range_; }

  // Who reaches whose heap without the NIC.
  const TransportMap& transports() const { return *transports_; }

  // Whether GDAKIT_CHECK_MEMORY is on.
  bool is_checked() const { return is_checked_; }
  // An error, in words, if something was stored beyond an object or in freed memory since the last
  // call. Finds nothing in a heap that is not checked.
  Result<void> verify() { return checked_ == nullptr ? Result<void>() : checked_->verify(); }

  // For kernels launched from now on; growth changes it, and in a heap that is checked every object
  // that comes or goes.
  HeapView view() const;

 private:
  SymmetricHeap(const Options& options, Bootstrap& bootstrap, Backend& backend,
                MemoryProvider& memory);

  Result<void> make_tables();
  Result<void> exchange_bases();
  Result<void> grow(std::uint64_t bytes);
  Result<NicKeys> make_chunk(std::uint64_t bytes);
  Result<void> add_chunk(std::uint64_t bytes, const std::vector<ChunkKeys>& keys);
  Result<void> write_row(std::uint32_t nic, const LocalRange& chunk,
                         const std::vector<Be32>& rkeys);
  std::string sharing_text() const;
  Result<void> agree(const char* call, std::uint64_t mine);
  // Room for an object, and its guard if the heap is checked.
  std::uint64_t room_for(std::uint64_t bytes) const {
    return checked_ == nullptr ? bytes : CheckedHeap::with_guard(bytes);
  }
  // Gives memory back that was freed, until there is a free range of `room` bytes.
  void reuse_for(std::uint64_t room);
  // The offset of new memory.
  Result<std::uint64_t> place(std::uint64_t bytes);

  Bootstrap& bootstrap_;
  Backend& backend_;
  MemoryProvider& memory_;
  std::uint64_t arena_bytes_;
  std::uint64_t chunk_bytes_;
  std::uint64_t limit_bytes_;
  std::uint64_t max_chunks_;
  const std::uint32_t nics_;
  std::shared_ptr<AddressRange> range_;
  std::unique_ptr<TransportMap> transports_;
  std::unique_ptr<MemoryBlock> chunk_table_;  // LocalRange[nics_][max_chunks_]
  std::unique_ptr<MemoryBlock> rkey_table_;   // Be32[nics_][max_chunks_][size]
  std::unique_ptr<MemoryBlock> base_table_;   // uint64[size]
  std::vector<NicKeys> keys_;                 // of the chunks, in order
  HeapAllocator allocator_;
  Allocations allocations_;
  bool is_checked_;
  std::unique_ptr<CheckedHeap> checked_;  // null unless is_checked_
};

}  // namespace gdakit
