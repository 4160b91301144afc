// The numbers of objects, as firmware hands them out: a freed number rests until others have been
// freed after it, so that a stale one most likely names nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "backends/softnic/objects/kinds.h"
#include "core/base/assert.h"

namespace gdakit::softnic {

class NumberSpace {
 public:
  // The numbers of a kind, and of those that share its space, without the first `skipped` ones,
  // which are not all; at most `most` in use.
  NumberSpace(ObjectKind kind, std::uint32_t most, std::uint32_t skipped = 0)
      : NumberSpace(kind_row(kind), kind_row(kind).first + skipped, most) {}
  // Hands out [first, limit). 0 is never among them.
  NumberSpace(std::uint32_t first, std::uint32_t limit, std::size_t resting)
      : first_(first), next_(first), limit_(limit), most_resting_(resting) {
    GDAKIT_ASSERT(0 < first && first <= limit);
  }

  // A number for a new object; nothing if all are in use.
  std::optional<std::uint32_t> take() {
    const bool full = next_ == limit_;
    if (resting_.size() > most_resting_ || (full && !resting_.empty())) {
      const std::uint32_t number = resting_.front();
      resting_.pop_front();
      return number;
    }
    if (full) return std::nullopt;
    return next_++;
  }
  // Its object is gone.
  void give_back(std::uint32_t number) { resting_.push_back(number); }

  std::uint32_t first() const { return first_; }
  std::uint32_t most() const { return limit_ - first_; }  // in use at a time

 private:
  NumberSpace(const KindRow& row, std::uint32_t first, std::uint32_t most)
      : NumberSpace(first, first + std::min(most, row.limit - first), row.resting) {
    GDAKIT_ASSERT(first < row.limit);
  }

  std::uint32_t first_;
  std::uint32_t next_;
  std::uint32_t limit_;
  std::size_t most_resting_;
  std::deque<std::uint32_t> resting_;
};

}  // namespace gdakit::softnic
