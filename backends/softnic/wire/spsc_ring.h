// The indices of a ring with one writer and one reader, apart from its slots.
//
//        retired        next            tail
//          v             v               v
//   ... | read, in use | published, new | free ...        slot of index i = i mod slots
//
// Each side keeps its own index to itself and only publishes it, and checks what it reads of the
// other: an index that no ring could have breaks the ring (broken()), which then is empty for a
// reader and full for a writer. A reader whose ring is broken publishes such an index itself, so
// that the writer does not wait for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "core/base/assert.h"
#include "core/base/bits.h"

namespace gdakit::softnic {

struct RingIndices {
  alignas(64) std::atomic<std::uint64_t> tail{0};  // the writer's
  alignas(64) std::atomic<std::uint64_t> head{0};  // the reader's: everything below is retired
};
static_assert(sizeof(RingIndices) == 128 && std::atomic<std::uint64_t>::is_always_lock_free);

class RingWriter {
 public:
  RingWriter() = default;
  RingWriter(RingIndices* indices, std::uint32_t slots)
      : indices_(indices),
        slots_(slots),
        tail_(indices->tail.load(std::memory_order_relaxed)),
        head_(indices->head.load(std::memory_order_acquire)) {
    GDAKIT_ASSERT(is_power_of_two(slots));
    check();
  }

  // The slot to fill next, or nothing if the ring is full.
  std::optional<std::uint32_t> reserve() {
    if (tail_ - head_ >= slots_ && !refresh()) return std::nullopt;
    return static_cast<std::uint32_t>(tail_ & (slots_ - 1));
  }
  // The reserved slot is filled.
  void commit() { ++tail_; }
  // Shows the reader all committed slots. seq_cst: in one order with what tells the reader to look.
  void publish(std::memory_order order = std::memory_order_release) {
    indices_->tail.store(tail_, order);
  }

  // Everything below `index`, which is not above tail(), is retired.
  bool retired(std::uint64_t index) {
    return tail_ - head_ <= tail_ - index || (refresh(), tail_ - head_ <= tail_ - index);
  }

  // Slots that are filled and not retired, as the reader says now; 0 if it says what no ring has.
  std::uint64_t unretired() const {
    const std::uint64_t count = tail_ - indices_->head.load(std::memory_order_acquire);
    return count <= slots_ ? count : 0;
  }

  // Nobody reads: what an earlier pair has left behind, broken or not, is forgotten.
  void restart() {
    broken_ = false;
    tail_ = head_ = indices_->head.load(std::memory_order_acquire);
    publish();
  }

  std::uint64_t tail() const { return tail_; }
  // Everything below is retired.
  std::uint64_t head() {
    refresh();
    return head_;
  }
  bool broken() const { return broken_; }

 private:
  bool refresh() {
    if (broken_) return false;
    head_ = indices_->head.load(std::memory_order_acquire);
    check();
    return !broken_ && tail_ - head_ < slots_;
  }
  void check() {
    if (tail_ - head_ <= slots_) return;
    broken_ = true;
    head_ = tail_ - slots_;
  }

  RingIndices* indices_ = nullptr;
  std::uint64_t slots_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t head_ = 0;  // as last seen
  bool broken_ = false;
};

class RingReader {
 public:
  RingReader() = default;
  // Goes on where the last reader retired.
  RingReader(RingIndices* indices, std::uint32_t slots)
      : indices_(indices),
        slots_(slots),
        next_(indices->head.load(std::memory_order_acquire)),
        retired_(next_),
        tail_(next_) {
    GDAKIT_ASSERT(is_power_of_two(slots));
  }

  // The next unread slot, or nothing.
  std::optional<std::uint32_t> peek() {
    if (next_ == tail_ && !refresh()) return std::nullopt;
    return static_cast<std::uint32_t>(next_ & (slots_ - 1));
  }
  void advance() { ++next_; }
  void retire() {
    GDAKIT_ASSERT(retired_ != next_);
    ++retired_;
  }
  // Goes past all that is there, whatever it is: it was for an earlier reader.
  void skip_all() {
    next_ = retired_ = tail_ = indices_->tail.load(std::memory_order_acquire);
    publish();
  }
  // Gives the writer back what is retired.
  void publish() {
    indices_->head.store(broken_ ? retired_ + kNoIndex : retired_, std::memory_order_release);
  }

  std::uint64_t unretired() const { return next_ - retired_; }
  bool broken() const { return broken_; }
  void mark_broken() {
    broken_ = true;
    tail_ = next_;
    publish();
  }

 private:
  static constexpr std::uint64_t kNoIndex = std::uint64_t{1} << 63;  // from any index

  bool refresh() {
    if (broken_) return false;
    tail_ = indices_->tail.load(std::memory_order_seq_cst);  // see RingWriter::publish
    if (tail_ - retired_ > slots_ || tail_ - retired_ < next_ - retired_) mark_broken();
    return next_ != tail_;
  }

  RingIndices* indices_ = nullptr;
  std::uint64_t slots_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t retired_ = 0;
  std::uint64_t tail_ = 0;  // as last seen
  bool broken_ = false;
};

}  // namespace gdakit::softnic
