#include "backends/softnic/transport/buffer_pool.h"

namespace gdakit::softnic {

BufferPool::BufferPool(std::uint32_t count, std::uint32_t size)
    : memory_(std::make_unique<std::uint8_t[]>(std::size_t{count} * size)) {
  free_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) free_.push_back(&memory_[std::size_t{i} * size]);
}

std::uint8_t* BufferPool::take() {
  if (free_.empty()) return nullptr;
  std::uint8_t* buffer = free_.back();
  free_.pop_back();
  return buffer;
}

}  // namespace gdakit::softnic
