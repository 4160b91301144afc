// Big-endian integers as types: a layout's field is a Be16, Be32 or Be64, and reading one converts
// it.
//
//   Be32 key{0x01020304};            // bytes 01 02 03 04 in memory
//   std::uint32_t value = key;       // 0x01020304 again
//
// Alignment is the integer's own, so that a struct of them has the layout the hardware document
// shows.
#pragma once

#include <cstdint>

#include "core/base/annotate.h"

namespace gdakit {

GDAKIT_HOST_DEVICE constexpr std::uint16_t byte_swap(std::uint16_t value) {
  return static_cast<std::uint16_t>((value >> 8) | (value << 8));
}

GDAKIT_HOST_DEVICE constexpr std::uint32_t byte_swap(std::uint32_t value) {
  if (!__builtin_is_constant_evaluated()) return GDAKIT_BYTE_SWAP32(value);
  return (value >> 24) | ((value >> 8) & 0x0000ff00u) | ((value << 8) & 0x00ff0000u) |
         (value << 24);
}

GDAKIT_HOST_DEVICE constexpr std::uint64_t byte_swap(std::uint64_t value) {
  return (std::uint64_t{byte_swap(static_cast<std::uint32_t>(value))} << 32) |
         byte_swap(static_cast<std::uint32_t>(value >> 32));
}

// An integer that lies big-endian in memory. Every processor that gdakit runs on is little-endian.
template <class T>
class BigEndian {
 public:
  BigEndian() = default;
  GDAKIT_HOST_DEVICE constexpr explicit BigEndian(T value) : raw_(byte_swap(value)) {}
  GDAKIT_HOST_DEVICE constexpr operator T() const { return byte_swap(raw_); }

  // The bytes as a little-endian processor loads them: what a store of this field must write.
  GDAKIT_HOST_DEVICE constexpr T raw() const { return raw_; }
  GDAKIT_HOST_DEVICE static constexpr BigEndian from_raw(T raw) {
    BigEndian result{};
    result.raw_ = raw;
    return result;
  }

 private:
  T raw_;
};

using Be16 = BigEndian<std::uint16_t>;
using Be32 = BigEndian<std::uint32_t>;
using Be64 = BigEndian<std::uint64_t>;

static_assert(sizeof(Be16) == 2 && alignof(Be16) == 2);
static_assert(sizeof(Be32) == 4 && alignof(Be32) == 4);
static_assert(sizeof(Be64) == 8 && alignof(Be64) == 8);

}  // namespace gdakit
