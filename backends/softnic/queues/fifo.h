// A queue of fixed capacity whose entries keep their place: entry n lies in slot n mod capacity
// until it is popped, so that a DMA operation may fill one. Entries are numbered from 0 without
// end.
#pragma once

#include <cstdint>

#include "backends/softnic/queues/lazy_array.h"
#include "core/base/assert.h"
#include "core/base/bits.h"

namespace gdakit::softnic {

template <class T>
class Fifo {
 public:
  // `capacity` is a power of two.
  explicit Fifo(std::uint32_t capacity) : entries_(capacity), mask_(capacity - 1) {
    GDAKIT_ASSERT(is_power_of_two(capacity));
  }

  bool empty() const { return head_ == tail_; }
  bool full() const { return tail_ - head_ > mask_; }
  std::uint64_t head() const { return head_; }  // number of the oldest entry
  std::uint64_t tail() const { return tail_; }  // number of the next entry

  T& operator[](std::uint64_t number) {
    GDAKIT_ASSERT(number - head_ < tail_ - head_);
    return entries_[number & mask_];
  }
  T& front() { return (*this)[head_]; }

  // A fresh entry at the tail, to be filled in.
  T& push() {
    GDAKIT_ASSERT(!full());
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
  LazyArray<T> entries_;
  std::uint64_t mask_;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace gdakit::softnic
