#include "core/host/memory/heap_allocator.h"

#include <algorithm>

#include "core/base/bits.h"

namespace gdakit {
namespace {

// An object of 0 bytes still has an address of its own.
std::uint64_t padded(std::uint64_t bytes) {
  return round_up(std::max<std::uint64_t>(bytes, 1), kHeapAlignment);
}

}  // namespace

void HeapAllocator::extend(std::uint64_t bytes) {
  release(size_, bytes);
  size_ += bytes;
}

std::optional<std::uint64_t> HeapAllocator::allocate(std::uint64_t bytes) {
  if (bytes > size_) return std::nullopt;
  const std::uint64_t need = padded(bytes);
  const auto fits = [need](const auto& range) { return range.second >= need; };
  const auto found = std::find_if(free_.begin(), free_.end(), fits);
  if (found == free_.end()) return std::nullopt;
  const auto [offset, room] = *found;
  free_.erase(found);
  if (room > need) free_.emplace(offset + need, room - need);
  used_.emplace(offset, need);
  in_use_ += need;
  return offset;
}

std::optional<std::uint64_t> HeapAllocator::size_at(std::uint64_t offset) const {
  const auto found = used_.find(offset);
  if (found == used_.end()) return std::nullopt;
  return found->second;
}

bool HeapAllocator::free(std::uint64_t offset) {
  const auto found = used_.find(offset);
  if (found == used_.end()) return false;
  const std::uint64_t bytes = found->second;
  used_.erase(found);
  in_use_ -= bytes;
  release(offset, bytes);
  return true;
}

std::uint64_t HeapAllocator::missing_for(std::uint64_t bytes) const {
  const std::uint64_t need = padded(bytes);
  const auto fits = [need](const auto& range) { return range.second >= need; };
  if (std::any_of(free_.begin(), free_.end(), fits)) return 0;
  if (free_.empty()) return need;
  const auto& [offset, room] = *free_.rbegin();
  return offset + room == size_ ? need - room : need;
}

void HeapAllocator::release(std::uint64_t offset, std::uint64_t bytes) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

}  // namespace gdakit
