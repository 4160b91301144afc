// Objects by number, as firmware hands numbers out: a freed number rests until others have been
// freed after it, so that a stale one most likely names nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/assert.h"

namespace gdakit::softnic {

template <class T>
class NumberTable {
 public:
  static constexpr std::size_t kResting = 64;

  // Hands out [first, limit). 0 is never among them.
  NumberTable(std::uint32_t first, std::uint32_t limit) : limit_(limit), objects_(first) {
    GDAKIT_ASSERT(0 < first && first <= limit);
  }

  // A number for a new object, which put() then stores; nothing if all are in use.
  std::optional<std::uint32_t> take() {
    const bool full = objects_.size() >= limit_;
    if (resting_.size() > kResting || (full && !resting_.empty())) {
      const std::uint32_t number = resting_.front();
      resting_.pop_front();
      return number;
    }
    if (full) return std::nullopt;
    objects_.emplace_back();
    return static_cast<std::uint32_t>(objects_.size() - 1);
  }
  T& put(std::uint32_t number, std::unique_ptr<T> object) {
    objects_[number] = std::move(object);
    return *objects_[number];
  }
  // Takes the object out; its number goes to rest.
  std::unique_ptr<T> remove(std::uint32_t number) {
    resting_.push_back(number);
    return std::move(objects_[number]);
  }

  T* find(std::uint32_t number) const {
    return number < objects_.size() ? objects_[number].get() : nullptr;
  }
  // Where the object of a number that is in use is kept.
  std::unique_ptr<T>* slot(std::uint32_t number) { return &objects_[number]; }
  std::size_t size() const { return objects_.size(); }  // all numbers ever given out are below

 private:
  std::uint32_t limit_;
  std::vector<std::unique_ptr<T>> objects_;
  std::deque<std::uint32_t> resting_;
};

}  // namespace gdakit::softnic
