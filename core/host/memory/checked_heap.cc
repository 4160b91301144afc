#include "core/host/memory/checked_heap.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "core/base/bits.h"
#include "core/host/memory/heap_allocator.h"

namespace gdakit {
namespace {

// Makes no pointer, number or index that a program has by chance.
constexpr std::byte kPattern{0xfd};
constexpr std::uint64_t kPieceBytes = std::uint64_t{64} << 10;

const std::vector<std::byte>& pattern() {
  static const std::vector<std::byte> piece(kPieceBytes, kPattern);
  return piece;
}

}  // namespace

std::uint64_t CheckedHeap::with_guard(std::uint64_t bytes) {
  return round_up(bytes, kHeapAlignment) + kGuardBytes;
}

CheckedHeap::Zone CheckedHeap::zone_of(std::uint64_t offset, const Slot& slot) {
  const std::uint64_t end = offset + with_guard(slot.bytes);
  return {slot.in_use ? offset + slot.bytes : offset, end};
}

void CheckedHeap::add_chunk(std::uint64_t begin, std::uint64_t end,
                            const std::vector<ChunkKeys>& keys) {
  chunks_.push_back({begin, end, keys});
}

Result<void> CheckedHeap::add(std::uint64_t offset, std::uint64_t bytes) {
  const Slot& slot = slots_.insert_or_assign(offset, Slot{bytes, true}).first->second;
  if (Result<void> filled = fill(zone_of(offset, slot)); !filled) return filled;
  return publish();
}

Result<void> CheckedHeap::retire(std::uint64_t offset) {
  Slot& slot = slots_.at(offset);
  slot.in_use = false;
  freed_.push_back(offset);
  freed_bytes_ += with_guard(slot.bytes);
  if (Result<void> filled = fill(zone_of(offset, slot)); !filled) return filled;
  return publish();
}

std::optional<std::uint64_t> CheckedHeap::reuse(bool at_once) {
  const bool enough = freed_bytes_ > kKeptBytes && freed_.size() > 1;
  if (freed_.empty() || !(enough || at_once)) return std::nullopt;
  const std::uint64_t offset = freed_.front();
  freed_.pop_front();
  freed_bytes_ -= with_guard(slots_.at(offset).bytes);
  slots_.erase(offset);
  return offset;
}

Result<void> CheckedHeap::fill(const Zone& zone) {
  for (std::uint64_t at = zone.begin; at < zone.end; at += kPieceBytes) {
    const std::uint64_t bytes = std::min(kPieceBytes, zone.end - at);
    if (auto done = memory_.copy(base_ + at, pattern().data(), bytes); !done) return done;
  }
  return {};
}

Result<CheckedHeap::Zone> CheckedHeap::find_traces(const Zone& zone) const {
  Zone traces{zone.end, zone.end};
  std::vector<std::byte> piece(std::min(kPieceBytes, zone.end - zone.begin));
  for (std::uint64_t at = zone.begin; at < zone.end; at += kPieceBytes) {
    const std::uint64_t bytes = std::min(kPieceBytes, zone.end - at);
    if (auto done = memory_.copy(piece.data(), base_ + at, bytes); !done) return done.error();
    if (std::memcmp(piece.data(), pattern().data(), bytes) == 0) continue;
    for (std::uint64_t i = 0; i < bytes; ++i) {
      if (piece[i] == kPattern) continue;
      traces.begin = std::min(traces.begin, at + i);
      traces.end = at + i + 1;
    }
  }
  return traces;
}

Error CheckedHeap::overwritten(const Slot& slot, const Zone& traces) const {
  return Error(
      Code::invalid_argument,
      std::string(slot.in_use ? "an object was overrun: " : "freed memory was written to: ") +
          std::to_string(traces.end - traces.begin) + " bytes from " +
          allocations_.describe(traces.begin) +
          " on were overwritten since the last launch, barrier or free that found nothing, "
          "by a plain store of a kernel or of the host, or by an operation that was under "
          "way when its target was freed");
}

Result<void> CheckedHeap::verify() {
  for (const auto& [offset, slot] : slots_) {
    const Zone zone = zone_of(offset, slot);
    const Result<Zone> traces = find_traces(zone);
    if (!traces) return traces.error();
    if (traces->begin == zone.end) continue;
    if (Result<void> filled = fill(zone); !filled) return filled;
    return overwritten(slot, *traces);
  }
  return {};
}

// The part of each chunk that lies between two offsets, as the NIC calls it.
void CheckedHeap::add_rows(std::uint32_t nic, std::uint64_t begin, std::uint64_t end) {
  const auto base = reinterpret_cast<std::uint64_t>(base_);
  for (const Chunk& chunk : chunks_) {
    const std::uint64_t from = std::max(base + begin, chunk.begin);
    const std::uint64_t to = std::min(base + end, chunk.end);
    if (from >= to) continue;
    const ChunkKeys& keys = chunk.keys[nic];
    rows_.push_back({from, to, keys.lkey});
    row_keys_.insert(row_keys_.end(), keys.rkeys.begin(), keys.rkeys.end());
  }
}

Result<void> CheckedHeap::publish() {
  rows_.clear();
  row_keys_.clear();
  for (std::uint32_t nic = 0; nic < nics_; ++nic) {
    for (const auto& [offset, slot] : slots_) {
      if (slot.in_use) add_rows(nic, offset, offset + slot.bytes);
    }
  }
  if (auto done = write_table(row_table_, rows_.data(), rows_.size() * sizeof(LocalRange)); !done) {
    return done;
  }
  return write_table(key_table_, row_keys_.data(), row_keys_.size() * sizeof(Be32));
}

Result<void> CheckedHeap::write_table(std::unique_ptr<MemoryBlock>& table, const void* from,
                                      std::uint64_t bytes) {
  if (bytes == 0) return {};
  if (table == nullptr || table->size() < bytes) {
    Result<std::unique_ptr<MemoryBlock>> larger = memory_.allocate(2 * bytes, Place::device);
    if (!larger) return larger.error().within("table of the objects of the symmetric heap");
    table = std::move(*larger);
  }
  return table->write(0, from, bytes);
}

void CheckedHeap::show(HeapView& view) const {
  view.end = view.base;
  view.chunk_count = static_cast<std::uint32_t>(rows_.size() / nics_);
  view.chunk_room = view.chunk_count;
  if (rows_.empty()) return;
  view.chunks = static_cast<const LocalRange*>(row_table_->data());
  view.rkeys = static_cast<const Be32*>(key_table_->data());
}

}  // namespace gdakit
