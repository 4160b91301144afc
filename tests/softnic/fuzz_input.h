// The input of a fuzz run, from front to back; past its end come zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gdakit::softnic::test {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  template <class T>
  T take() {
    T value{};
    const std::size_t available = std::min(sizeof value, size_ - std::min(at_, size_));
    if (available != 0) std::memcpy(&value, data_ + at_, available);
    at_ += sizeof value;
    return value;
  }
  std::uint32_t below(std::uint32_t limit) { return take<std::uint16_t>() % limit; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

}  // namespace gdakit::softnic::test
