// A queue of limited length that starts without memory and doubles it when it is short of room: of
// a thousand queue pairs most need little of what they may have. What has held so many entries once
// allocates no more. Entries are numbered from 0 without end, and move when the queue grows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/base/assert.h"
#include "core/base/bits.h"

namespace gdakit::softnic {

template <class T>
class GrowingFifo {
 public:
  // `limit` entries at most, a power of two.
  explicit GrowingFifo(std::uint32_t limit) : limit_(limit) {
    GDAKIT_ASSERT(is_power_of_two(limit));
  }

  bool empty() const { return head_ == tail_; }
  bool full() const { return tail_ - head_ >= limit_; }
  std::uint64_t head() const { return head_; }  // number of the oldest entry
  std::uint64_t tail() const { return tail_; }  // number of the next entry

  T& operator[](std::uint64_t number) {
    GDAKIT_ASSERT(number - head_ < tail_ - head_);
    return entries_[number & mask_];
  }
  T& front() { return (*this)[head_]; }

  // A fresh entry at the tail, to be filled in. References to others end.
  T& push() {
    GDAKIT_ASSERT(!full());
    if (tail_ - head_ == size_) grow();
    T& entry = entries_[tail_++ & mask_];
    entry = T{};
    return entry;
  }
  void pop() {
    GDAKIT_ASSERT(!empty());
    ++head_;
  }
  // Forgets the entries from number `end` on.
  void truncate(std::uint64_t end) {
    GDAKIT_ASSERT(end - head_ <= tail_ - head_);
    tail_ = end;
  }

 private:
  static constexpr std::uint64_t kFirstSize = 4;

  [[gnu::cold, gnu::noinline]] void grow() {
    const std::uint64_t size = std::min(std::max(kFirstSize, 2 * size_), limit_);
    auto entries = std::make_unique<T[]>(size);
    for (std::uint64_t number = head_; number != tail_; ++number) {
      entries[number & (size - 1)] = std::move(entries_[number & mask_]);
    }
    entries_ = std::move(entries);
    size_ = size;
    mask_ = size - 1;
  }

  std::unique_ptr<T[]> entries_;
  std::uint64_t size_ = 0;  // of the memory at present, a power of two
  std::uint64_t mask_ = 0;
  std::uint64_t limit_;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace gdakit::softnic
