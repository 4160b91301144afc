// Blocks of bytes from one thread to another, through a ring of which neither thread waits for the
// other.
//
//   pushed, not yet popped       room
//   [ block | block | block ]................      positions grow for ever, modulo the ring's size
//   popped_                  pushed_
//
// The reader sees whole blocks. Where the ring ends a block may lie in two pieces; blocks are
// multiples of four bytes and the ring is a power of two, so that no word of a block does.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "core/base/assert.h"

namespace gdakit {

class BlockQueue {
 public:
  // Room for `bytes` bytes at least.
  explicit BlockQueue(std::size_t bytes)
      : size_(std::bit_ceil(std::max<std::size_t>(bytes, kUnit))),
        ring_(std::make_unique_for_overwrite<std::uint8_t[]>(size_)) {}

  // The writer's: false if there is no room, and then nothing has happened.
  bool push(std::span<const std::uint8_t> block) {
    GDAKIT_ASSERT(block.size() % kUnit == 0);
    if (block.size() > room()) return false;
    const std::uint64_t end = pushed_.load(std::memory_order_relaxed);
    const std::size_t at = end & (size_ - 1);
    const std::size_t before_wrap = std::min(block.size(), size_ - at);
    std::memcpy(&ring_[at], block.data(), before_wrap);
    const std::size_t behind = block.size() - before_wrap;
    if (behind != 0) std::memcpy(&ring_[0], block.data() + before_wrap, behind);
    pushed_.store(end + block.size(), std::memory_order_release);
    return true;
  }
  std::size_t room() const {
    return size_ -
           (pushed_.load(std::memory_order_relaxed) - popped_.load(std::memory_order_acquire));
  }

  // The reader's: all blocks that are there, in their order.
  struct Blocks {
    std::span<const std::uint8_t> first, second;

    std::size_t size() const { return first.size() + second.size(); }
  };
  Blocks peek() const {
    const std::uint64_t begin = popped_.load(std::memory_order_relaxed);
    const std::size_t bytes = pushed_.load(std::memory_order_acquire) - begin;
    const std::size_t at = begin & (size_ - 1);
    const std::size_t before_wrap = std::min(bytes, size_ - at);
    return {{&ring_[at], before_wrap}, {&ring_[0], bytes - before_wrap}};
  }
  void pop(std::size_t bytes) {
    popped_.store(popped_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kUnit = 4;

  const std::size_t size_;
  const std::unique_ptr<std::uint8_t[]> ring_;
  alignas(64) std::atomic<std::uint64_t> pushed_{0};
  alignas(64) std::atomic<std::uint64_t> popped_{0};
};

}  // namespace gdakit
