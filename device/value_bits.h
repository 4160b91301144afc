// Values as bytes, and as the bits of a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/base/bits.h"

namespace gdakit {

// What a single access, or the inside of a WQE, can hold.
template <class T>
inline constexpr bool is_one_word = std::is_trivially_copyable_v<T> &&
                                    (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 ||
                                     sizeof(T) == 8);

// The bytes of `count` elements; ~0, which no registered memory holds, where that does not fit.
template <class T>
GDAKIT_HOST_DEVICE constexpr std::uint64_t bytes_of(std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>, "the NIC copies bytes: T is trivially copyable");
  return count > ~std::uint64_t{0} / sizeof(T) ? ~std::uint64_t{0} : count * sizeof(T);
}

// The bits of a value of at most 8 bytes, in the lowest bytes of a word.
template <class T>
GDAKIT_HOST_DEVICE constexpr std::uint64_t widen_bits(T value) {
  static_assert(is_one_word<T>);
  if constexpr (sizeof(T) == 8) {
    return bit_cast<std::uint64_t>(value);
  } else if constexpr (sizeof(T) == 4) {
    return bit_cast<std::uint32_t>(value);
  } else if constexpr (sizeof(T) == 2) {
    return bit_cast<std::uint16_t>(value);
  } else {
    return bit_cast<std::uint8_t>(value);
  }
}

}  // namespace gdakit
