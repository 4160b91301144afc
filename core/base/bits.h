// Bit arithmetic that host and device code share. The standard's <bit> is not for device code.
#pragma once

#include <cstdint>

#include "core/base/annotate.h"

namespace gdakit {

// The object representation of `from` as a To. Both must be trivially copyable, of one size.
template <class To, class From>
GDAKIT_HOST_DEVICE constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

GDAKIT_HOST_DEVICE constexpr bool is_power_of_two(std::uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

// Rounds `value` up to a multiple of `unit`, a power of two.
GDAKIT_HOST_DEVICE constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) & ~(unit - 1);
}

GDAKIT_HOST_DEVICE constexpr std::uint64_t divide_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit;
}

// The index of the highest bit set; `value` is not 0.
GDAKIT_HOST_DEVICE constexpr int log2_floor(std::uint64_t value) {
  int log = 0;
  for (int step = 32; step != 0; step /= 2) {
    if ((value >> step) != 0) {
      value >>= step;
      log += step;
    }
  }
  return log;
}

// The least log with 2^log >= value; `value` is not 0.
GDAKIT_HOST_DEVICE constexpr int log2_ceil(std::uint64_t value) {
  return value <= 1 ? 0 : log2_floor(value - 1) + 1;
}

GDAKIT_HOST_DEVICE constexpr int count_bits(std::uint64_t value) {
  if (!__builtin_is_constant_evaluated()) return static_cast<int>(GDAKIT_POPCOUNT64(value));
  int count = 0;
  for (; value != 0; value &= value - 1) ++count;
  return count;
}

GDAKIT_HOST_DEVICE constexpr int count_bits(std::uint32_t value) {
  if (!__builtin_is_constant_evaluated()) return static_cast<int>(GDAKIT_POPCOUNT32(value));
  return count_bits(std::uint64_t{value});
}

// The index of the lowest bit set; the number of bits for none.
GDAKIT_HOST_DEVICE constexpr int lowest_bit(std::uint64_t value) {
  return count_bits((value & (~value + 1)) - 1);
}
GDAKIT_HOST_DEVICE constexpr int lowest_bit(std::uint32_t value) {
  return count_bits((value & (~value + 1)) - 1);
}

// A word with the `count` lowest bits set; `count` is at most 64.
GDAKIT_HOST_DEVICE constexpr std::uint64_t low_bits(int count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

}  // namespace gdakit
