// Pool: memory that lives as long as one execution. Given out by moving a pointer, taken back all
// at once; what it has grown to is kept, so executions after the first allocate nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace gdakit::sim::weak {

class Pool {
 public:
  void clear() { block_ = used_ = 0; }

  // `count` objects of T, not initialised.
  template <class T>
  T* take(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= alignof(std::max_align_t));
    constexpr std::size_t kUnit = alignof(std::max_align_t);
    const std::size_t bytes = (count * sizeof(T) + kUnit - 1) / kUnit * kUnit;
    if (block_ == blocks_.size() || used_ + bytes > blocks_[block_].bytes) next_block(bytes);
    std::byte* const at = blocks_[block_].memory.get() + used_;
    used_ += bytes;
    return reinterpret_cast<T*>(at);
  }

 private:
  static constexpr std::size_t kBlockBytes = 64 * 1024;
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes;
  };

  void next_block(std::size_t bytes) {
    if (block_ != blocks_.size()) ++block_;
    while (block_ != blocks_.size() && blocks_[block_].bytes < bytes) ++block_;
    if (block_ == blocks_.size()) {
      const std::size_t size = bytes > kBlockBytes ? bytes : kBlockBytes;
      blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
    }
    used_ = 0;
  }

  std::vector<Block> blocks_;
  std::size_t block_ = 0;
  std::size_t used_ = 0;
};

}  // namespace gdakit::sim::weak
