// Ownership of a resource that is a plain value: a file descriptor, a mapping, a number in a table.
#pragma once

#include <utility>

namespace gdakit {

// Owns one Traits::Value. Traits says which value means "none" and how a value is given back:
//
//   struct FileTraits {
//     using Value = int;
//     static Value none() { return -1; }
//     static void close(Value value) { ::close(value); }
//   };
template <class Traits>
class UniqueHandle {
 public:
  using Value = typename Traits::Value;

  UniqueHandle() : value_(Traits::none()) {}
  explicit UniqueHandle(Value value) : value_(std::move(value)) {}
  UniqueHandle(UniqueHandle&& other) noexcept : value_(other.release()) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~UniqueHandle() { reset(); }

  const Value& get() const { return value_; }
  explicit operator bool() const { return !(value_ == Traits::none()); }

  Value release() { return std::exchange(value_, Traits::none()); }

  void reset(Value value = Traits::none()) {
    Value old = std::exchange(value_, std::move(value));
    if (!(old == Traits::none())) Traits::close(old);
  }

 private:
  Value value_;
};

}  // namespace gdakit
