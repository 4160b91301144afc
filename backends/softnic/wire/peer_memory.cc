#include "backends/softnic/wire/peer_memory.h"

#include "core/base/assert.h"

namespace gdakit::softnic {

void PeerMemory::set(Endpoint endpoint, DmaAddress base, std::uint64_t bytes) {
  GDAKIT_ASSERT(endpoint < ranges_.size());
  Range& range = ranges_[endpoint];
  const std::uint64_t before = range.bytes.load(std::memory_order_relaxed);
  GDAKIT_ASSERT(bytes >= before && (before == 0 || base == range.base));
  if (before == 0) range.base = base;
  range.bytes.store(bytes, std::memory_order_release);
}

std::optional<std::uint64_t> PeerMemory::offset_of(const Fragment& fragment) const {
  const Range& own = ranges_[self_];
  const std::uint64_t bytes = own.bytes.load(std::memory_order_acquire);
  if (bytes == 0) return std::nullopt;
  const std::uint64_t offset = fragment.address.value - own.base.value;
  // Compared this way round, no sum can overflow.
  if (offset > bytes || fragment.size > bytes - offset) return std::nullopt;
  return offset;
}

std::optional<DmaAddress> PeerMemory::at(Endpoint endpoint, std::uint64_t offset,
                                         std::uint64_t size) const {
  if (endpoint >= ranges_.size()) return std::nullopt;
  const Range& range = ranges_[endpoint];
  const std::uint64_t bytes = range.bytes.load(std::memory_order_acquire);
  if (offset > bytes || size > bytes - offset) return std::nullopt;
  return range.base + offset;
}

}  // namespace gdakit::softnic
