#include "core/host/symmetric_heap.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "core/base/bits.h"
#include "core/host/bootstrap/part.h"
#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit {
namespace {

// What peers name this PE's part of a growth by: its key of each NIC.
Result<Bytes> part_of(const Result<NicKeys>& keys) {
  if (!keys) return keys.error();
  std::vector<Be32> rkeys;
  for (std::uint32_t nic = 0; nic < keys->nics(); ++nic) rkeys.push_back(keys->rkey(nic));
  return to_bytes(rkeys.data(), rkeys.size());
}

// The keys of all PEs' parts by NIC, if every PE has made one; `mine` are this PE's.
Result<std::vector<ChunkKeys>> keys_of(const NicKeys& mine,
                                       const Result<std::vector<Bytes>>& blobs) {
  if (!blobs) return blobs.error();
  std::vector<ChunkKeys> keys(mine.nics());
  for (std::uint32_t nic = 0; nic < mine.nics(); ++nic) keys[nic].lkey = mine.lkey(nic);
  for (std::size_t pe = 0; pe < blobs->size(); ++pe) {
    const Result<Bytes> part = part_of_blob((*blobs)[pe], pe, "its part of the heap");
    if (!part) return part.error();
    if (part->size() != mine.nics() * sizeof(Be32)) {
      return Error(Code::invalid_argument,
                   "PE " + std::to_string(pe) + " gave " + std::to_string(part->size()) +
                       " bytes of keys of its heap for " + std::to_string(mine.nics()) +
                       " NICs; do all PEs run the same program?");
    }
    for (std::uint32_t nic = 0; nic < mine.nics(); ++nic) {
      Be32 rkey{};
      std::memcpy(&rkey, part->data() + nic * sizeof rkey, sizeof rkey);
      keys[nic].rkeys.push_back(rkey);
    }
  }
  return keys;
}

std::string bytes_text(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

}  // namespace

SymmetricHeap::SymmetricHeap(const Options& options, Bootstrap& bootstrap, Backend& backend,
                             MemoryProvider& memory)
    : bootstrap_(bootstrap),
      backend_(backend),
      memory_(memory),
      arena_bytes_(options.symmetric_size),
      chunk_bytes_(options.heap_chunk),
      limit_bytes_(options.heap_limit),
      nics_(backend.limits().nics),
      is_checked_(options.check_memory) {}

Result<std::unique_ptr<SymmetricHeap>> SymmetricHeap::create(const Options& options,
                                                             Bootstrap& bootstrap, Backend& backend,
                                                             MemoryProvider& memory) {
  std::unique_ptr<SymmetricHeap> heap(new SymmetricHeap(options, bootstrap, backend, memory));
  const std::uint64_t unit = memory.granularity();
  heap->arena_bytes_ = round_up(heap->arena_bytes_, unit);
  heap->chunk_bytes_ = round_up(heap->chunk_bytes_, unit);
  heap->limit_bytes_ = std::max(round_up(heap->limit_bytes_, unit), heap->arena_bytes_);
  heap->max_chunks_ = 1 + divide_up(heap->limit_bytes_ - heap->arena_bytes_, heap->chunk_bytes_);
  Result<std::unique_ptr<AddressRange>> range = memory.reserve(heap->limit_bytes_);
  if (!range) return range.error().within("symmetric heap (GDAKIT_HEAP_LIMIT)");
  heap->range_ = std::move(*range);
  if (heap->is_checked_) {
    heap->checked_ =
        std::make_unique<CheckedHeap>(memory, heap->base(), heap->nics_, heap->allocations_);
  }
  if (Result<void> made = heap->make_tables(); !made) return made.error();
  if (Result<void> exchanged = heap->exchange_bases(); !exchanged) return exchanged.error();
  auto transports = TransportMap::create(options, bootstrap, backend, memory, *heap->range_);
  if (!transports) return transports.error();
  heap->transports_ = std::move(*transports);
  if (Result<void> grown = heap->grow(heap->arena_bytes_); !grown) return grown.error();
  return heap;
}

SymmetricHeap::~SymmetricHeap() {
  for (const NicKeys& keys : keys_) {
    if (!keys.deregister(backend_)) leave_to_nic(range_);
  }
}

Result<void> SymmetricHeap::make_tables() {
  const auto n = static_cast<std::uint64_t>(bootstrap_.size());
  const auto allocate = [&](std::unique_ptr<MemoryBlock>& table,
                            std::uint64_t bytes) -> Result<void> {
    Result<std::unique_ptr<MemoryBlock>> block = memory_.allocate(bytes, Place::device);
    if (!block) return block.error().within("tables of the symmetric heap");
    table = std::move(*block);
    return {};
  };
  const std::uint64_t rows = nics_ * max_chunks_;
  if (auto made = allocate(chunk_table_, rows * sizeof(LocalRange)); !made) return made;
  if (auto made = allocate(rkey_table_, rows * n * sizeof(Be32)); !made) return made;
  return allocate(base_table_, n * sizeof(std::uint64_t));
}

Result<void> SymmetricHeap::exchange_bases() {
  const auto mine = reinterpret_cast<std::uint64_t>(range_->base());
  Result<std::vector<std::uint64_t>> bases = allgather_value(bootstrap_, mine);
  if (!bases) return bases.error();
  const std::uint64_t bytes = bases->size() * sizeof(std::uint64_t);
  if (auto written = base_table_->write(0, bases->data(), bytes); !written) return written;
  if (auto same = agree("GDAKIT_SYMMETRIC_SIZE", arena_bytes_); !same) return same;
  if (auto same = agree("GDAKIT_HEAP_CHUNK", chunk_bytes_); !same) return same;
  const auto text = [](std::uint64_t on) { return std::string(switch_name(on != 0)); };
  const std::uint64_t checked = is_checked_ ? 1 : 0;
  if (auto same = agree_on(bootstrap_, "GDAKIT_CHECK_MEMORY", checked, text); !same) return same;
  return agree("GDAKIT_HEAP_LIMIT", limit_bytes_);
}

Result<void> SymmetricHeap::grow(std::uint64_t bytes) {
  Result<NicKeys> keys = make_chunk(bytes);
  // All PEs come here, whether their own part succeeded or not: either all grow, or none.
  const Result<std::vector<Bytes>> blobs = bootstrap_.allgather(blob_of_part(part_of(keys)));
  if (!keys) return keys.error();
  const Result<std::vector<ChunkKeys>> of_all = keys_of(*keys, blobs);
  Result<void> added = of_all ? add_chunk(bytes, *of_all) : of_all.error();
  if (!added) {
    static_cast<void>(keys->deregister(backend_));
    return added;
  }
  keys_.push_back(std::move(*keys));
  allocator_.extend(bytes);
  return {};
}

// Peers map all of the range, whatever of it has memory.
std::string SymmetricHeap::sharing_text() const {
  return "sharing of the symmetric heap's range of " + bytes_text(limit_bytes_) +
         " (GDAKIT_HEAP_LIMIT)";
}

// Makes the next chunk known to peers and to the device's threads.
Result<void> SymmetricHeap::add_chunk(std::uint64_t bytes, const std::vector<ChunkKeys>& keys) {
  if (Result<void> shared = backend_.share_heap(*range_); !shared) {
    return shared.error().within(sharing_text());
  }
  if (Result<void> shared = transports_->share(*range_); !shared) {
    return shared.error().within(sharing_text() + ", for direct peers");
  }
  const auto begin = reinterpret_cast<std::uint64_t>(range_->base()) + allocator_.size();
  if (checked_ != nullptr) {
    checked_->add_chunk(begin, begin + bytes, keys);
    return {};
  }
  for (std::uint32_t nic = 0; nic < nics_; ++nic) {
    const LocalRange chunk{begin, begin + bytes, keys[nic].lkey};
    if (auto written = write_row(nic, chunk, keys[nic].rkeys); !written) return written;
  }
  return {};
}

// What the NIC calls the next chunk.
Result<void> SymmetricHeap::write_row(std::uint32_t nic, const LocalRange& chunk,
                                      const std::vector<Be32>& rkeys) {
  const std::uint64_t row = nic * max_chunks_ + keys_.size();
  if (auto written = chunk_table_->write(row * sizeof chunk, &chunk, sizeof chunk); !written) {
    return written;
  }
  const std::uint64_t bytes = rkeys.size() * sizeof(Be32);
  return rkey_table_->write(row * bytes, rkeys.data(), bytes);
}

// The next `bytes` bytes of the heap, with memory and registered. Memory that an earlier, failed
// growth has left behind is used first.
Result<NicKeys> SymmetricHeap::make_chunk(std::uint64_t bytes) {
  const std::uint64_t end = allocator_.size() + bytes;
  if (end > range_->committed()) {
    if (Result<void> committed = range_->commit(end - range_->committed()); !committed) {
      return committed.error().within(keys_.empty()
                                          ? "memory of the symmetric heap (GDAKIT_SYMMETRIC_SIZE)"
                                          : "growth of the symmetric heap (GDAKIT_HEAP_CHUNK)");
    }
  }
  Result<NicKeys> keys =
      NicKeys::create(backend_, range_->base() + allocator_.size(), bytes, MemoryUse::symmetric);
  if (!keys) return keys.error().within("registration of the symmetric heap");
  return keys;
}

Result<void> SymmetricHeap::agree(const char* call, std::uint64_t mine) {
  return agree_on(
      bootstrap_, call, mine, [](std::uint64_t value) { return std::to_string(value); },
      "all PEs must make the same calls with the same arguments");
}

Result<void*> SymmetricHeap::allocate(std::uint64_t bytes, std::string name) {
  const Bootstrap::For purpose(bootstrap_, Purpose::allocate);
  const Result<std::uint64_t> offset = place(bytes);
  if (!offset) return offset.error();
  allocations_.add(*offset, bytes, std::move(name));
  return static_cast<void*>(base() + *offset);
}

Result<void*> SymmetricHeap::allocate_own(std::uint64_t bytes, std::string name) {
  const Bootstrap::For purpose(bootstrap_, Purpose::allocate);
  const Result<std::uint64_t> offset = place(bytes);
  if (!offset) return offset.error();
  allocations_.add_own(*offset, bytes, std::move(name));
  return static_cast<void*>(base() + *offset);
}

Result<std::uint64_t> SymmetricHeap::place(std::uint64_t bytes) {
  if (Result<void> agreed = agree("allocate", bytes); !agreed) return agreed.error();
  const std::uint64_t left = limit_bytes_ - allocator_.size();
  const std::uint64_t room = room_for(std::min(bytes, limit_bytes_));
  reuse_for(room);
  if (bytes > limit_bytes_ || allocator_.missing_for(room) > left) {
    return Error(Code::exhausted,
                 "allocate of " + bytes_text(bytes) + ": " + bytes_text(allocator_.bytes_in_use()) +
                     " of the symmetric heap's " + bytes_text(limit_bytes_) +
                     " are in use and no free range is long enough; raise GDAKIT_HEAP_LIMIT");
  }
  while (allocator_.missing_for(room) > 0) {
    const std::uint64_t step = std::min(chunk_bytes_, limit_bytes_ - allocator_.size());
    if (Result<void> grown = grow(step); !grown) return grown.error();
  }
  const std::uint64_t offset = *allocator_.allocate(room);
  if (checked_ != nullptr) {
    if (Result<void> added = checked_->add(offset, bytes); !added) return added.error();
  }
  return offset;
}

void SymmetricHeap::reuse_for(std::uint64_t room) {
  if (checked_ == nullptr) return;
  while (const auto old = checked_->reuse(false)) allocator_.free(*old);
  while (allocator_.missing_for(room) > limit_bytes_ - allocator_.size()) {
    const auto old = checked_->reuse(true);
    if (!old) return;
    allocator_.free(*old);
  }
}

Result<void> SymmetricHeap::free(void* address) {
  const Bootstrap::For purpose(bootstrap_, Purpose::free);
  constexpr std::uint64_t kNoObject = ~std::uint64_t{0};
  const auto distance = static_cast<std::uint64_t>(static_cast<char*>(address) - range_->base());
  const auto known = contains(address) ? allocations_.nearest(distance) : std::nullopt;
  const bool begins = known && known->offset == distance && known->in_use;
  const std::uint64_t offset = begins ? distance : kNoObject;
  const auto object = [](std::uint64_t at) {
    return at == kNoObject ? std::string("an address where no object of the symmetric heap begins")
                           : "the object at offset " + std::to_string(at);
  };
  const Result<void> agreed =
      agree_on(bootstrap_, "free", offset, object, "all PEs must free the same object");
  if (!agreed) return agreed;
  if (!begins) {
    return Error(Code::invalid_argument,
                 "free: no object of the symmetric heap begins at this address, which is " +
                     describe(address) + "; pass what allocate returned, once");
  }
  // What was done to the object is known now or never.
  const Result<void> found = verify();
  allocations_.release(offset);
  if (checked_ == nullptr) {
    allocator_.free(offset);
    return {};
  }
  const Result<void> retired = checked_->retire(offset);
  return found ? retired : found.error().within("free");
}

bool SymmetricHeap::contains(const void* address) const {
  const char* const at = static_cast<const char*>(address);
  return at >= range_->base() && at < range_->base() + allocator_.size();
}

bool SymmetricHeap::reserves(const void* address) const {
  const char* const at = static_cast<const char*>(address);
  return at >= base() && at < base() + limit_bytes_;
}

std::string SymmetricHeap::describe(const void* address) const {
  if (!reserves(address)) return "memory outside the symmetric heap";
  return allocations_.describe(
      static_cast<std::uint64_t>(static_cast<const char*>(address) - base()));
}

HeapView SymmetricHeap::view() const {
  HeapView view{};
  view.base = reinterpret_cast<std::uint64_t>(range_->base());
  view.end = view.base + allocator_.size();
  view.chunks = static_cast<const LocalRange*>(chunk_table_->data());
  view.chunk_count = static_cast<std::uint32_t>(keys_.size());
  view.chunk_room = static_cast<std::uint32_t>(max_chunks_);
  view.nics = nics_;
  view.rkeys = static_cast<const Be32*>(rkey_table_->data());
  view.remote_bases = static_cast<const std::uint64_t*>(base_table_->data());
  transports_->show(view);
  if (checked_ != nullptr) checked_->show(view);
  return view;
}

}  // namespace gdakit
