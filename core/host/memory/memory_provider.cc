#include "core/host/memory/memory_provider.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/assert.h"

namespace gdakit {

// Never destroyed; checkers of leaks find the memory here.
void leave_to_nic(std::shared_ptr<void> memory) {
  static std::mutex mutex;
  static auto* const left = new std::vector<std::shared_ptr<void>>;
  const std::lock_guard lock(mutex);
  left->push_back(std::move(memory));
}

Result<void> MemoryBlock::write(std::uint64_t at, const void* from, std::uint64_t bytes) {
  GDAKIT_ASSERT(at <= size_ && bytes <= size_ - at);
  return provider_.copy(static_cast<char*>(data_) + at, from, bytes);
}

Result<void> MemoryBlock::read(std::uint64_t at, void* to, std::uint64_t bytes) const {
  GDAKIT_ASSERT(at <= size_ && bytes <= size_ - at);
  return provider_.copy(to, static_cast<const char*>(data_) + at, bytes);
}

Result<void> AddressRange::check_commit(std::uint64_t bytes) const {
  if (bytes <= size_ - committed_) return {};
  return Error(Code::exhausted, "commit of " + std::to_string(bytes) + " bytes: only " +
                                    std::to_string(size_ - committed_) + " of " +
                                    std::to_string(size_) + " reserved bytes are left");
}

Result<SharedChunk> AddressRange::export_chunk(std::uint64_t) {
  return Error(Code::unavailable, "memory of this kind cannot be shared with other processes");
}

Result<void> AddressRange::import_chunk(const SharedChunk&) {
  return Error(Code::unavailable, "memory of this kind cannot be shared with other processes");
}

Result<int> MemoryProvider::export_dma_buf(void*, std::uint64_t) {
  return Error(Code::unavailable, "memory of this kind has no dma-buf; register it by address");
}

}  // namespace gdakit
