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
    if (number >= objects_.size()) {
      objects_.resize(number + 1);
      owners_.resize(number + 1);
    }
    owners_[number] = owner;
    objects_[number] = std::move(object);
    return *objects_[number];
  }
  // Takes the object out; its number goes to rest.
  std::unique_ptr<T> remove(std::uint32_t number) {
    numbers_.give_back(number);
    return std::move(objects_[number]);
  }

  T* find(std::uint32_t number) const {
    return number < objects_.size() ? objects_[number].get() : nullptr;
  }
  // Null, too, if it is another owner's.
  T* find(std::uint32_t number, Uid owner) const {
    T* const object = find(number);
    return object != nullptr && owners_[number] == owner ? object : nullptr;
  }
  // Where the object of a number that is in use is kept.
  std::unique_ptr<T>* slot(std::uint32_t number) { return &objects_[number]; }
  std::size_t size() const { return objects_.size(); }  // all numbers of this kind are below

 private:
  NumberSpace& numbers_;
  std::vector<std::unique_ptr<T>> objects_;
  std::vector<Uid> owners_;  // apart: the data path looks at the objects alone
};

}  // namespace gdakit::softnic
