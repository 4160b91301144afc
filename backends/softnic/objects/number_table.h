// Objects of one kind by number, each with its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backends/softnic/objects/kinds.h"
#include "backends/softnic/objects/number_space.h"

namespace gdakit::softnic {

template <class T>
class NumberTable {
 public:
  // Other kinds may share the numbers, which outlive the table.
  explicit NumberTable(NumberSpace& numbers) : numbers_(numbers) {}

  // A number for a new object, which put() then stores; nothing if all are in use.
  std::optional<std::uint32_t> take() { return numbers_.take(); }
  T& put(std::uint32_t number, Uid owner, std::unique_ptr<T> object) {
    const std::uint32_t at = place(number);
    if (at >= objects_.size()) {
      objects_.resize(at + 1);
      owners_.resize(at + 1);
    }
    owners_[at] = owner;
    objects_[at] = std::move(object);
    return *objects_[at];
  }
  // Takes the object out; its number goes to rest.
  std::unique_ptr<T> remove(std::uint32_t number) {
    numbers_.give_back(number);
    return std::move(objects_[place(number)]);
  }

  T* find(std::uint32_t number) const {
    const std::uint32_t at = place(number);
    return at < objects_.size() ? objects_[at].get() : nullptr;
  }
  // Null, too, if it is another owner's.
  T* find(std::uint32_t number, Uid owner) const {
    T* const object = find(number);
    return object != nullptr && owners_[place(number)] == owner ? object : nullptr;
  }
  // Where the object of a number that is in use is kept.
  std::unique_ptr<T>* slot(std::uint32_t number) { return &objects_[place(number)]; }
  // All numbers of this kind are in [begin_number(), end_number()).
  std::uint32_t begin_number() const { return numbers_.first(); }
  std::uint32_t end_number() const {
    return begin_number() + static_cast<std::uint32_t>(objects_.size());
  }

 private:
  // Of a number below the first one it is beyond all places.
  std::uint32_t place(std::uint32_t number) const { return number - numbers_.first(); }

  NumberSpace& numbers_;
  std::vector<std::unique_ptr<T>> objects_;
  std::vector<Uid> owners_;  // apart: the data path looks at the objects alone
};

}  // namespace gdakit::softnic
