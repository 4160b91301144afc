// What reductions must give, computed by C++ alone: of integers modulo 2^bits, of floating-point
// numbers as doubles that are exact in every type and every order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "gdakit.h"

namespace gdakit::test {

// What the model computes elements of T in.
template <class T>
using Number = std::conditional_t<std::is_integral_v<T>, T, double>;

// The parts of a floating-point type of 16 bits.
struct Format16 {
  int exponent_bits;
  int mantissa_bits;

  std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }

  // `value` is exact in the format, or too large for it.
  std::uint16_t encode(double value) const {
    const std::uint32_t sign = std::signbit(value) ? 0x8000u : 0;
    if (value == 0) return static_cast<std::uint16_t>(sign);
    if (std::isinf(value) || std::ilogb(value) > bias()) {
      return static_cast<std::uint16_t>(sign | infinity());
    }
    const int exponent = std::ilogb(value);
    const double mantissa =
        std::ldexp(std::fabs(value), mantissa_bits - exponent);  // hidden bit, too
    const auto biased = static_cast<std::uint32_t>(exponent + bias() - 1) << mantissa_bits;
    return static_cast<std::uint16_t>(sign | (biased + static_cast<std::uint32_t>(mantissa)));
  }
};
inline constexpr Format16 kHalfFormat{5, 10};
inline constexpr Format16 kBFloat16Format{8, 7};

// The element of T that has this value.
template <class T>
T encoded(Number<T> value) {
  if constexpr (std::is_same_v<T, Half>) {
    return Half::from_bits(kHalfFormat.encode(value));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16::from_bits(kBFloat16Format.encode(value));
  } else if constexpr (std::is_same_v<T, float>) {
    const bool large = std::fabs(value) > std::numeric_limits<float>::max();
    const double infinity = std::copysign(std::numeric_limits<double>::infinity(), value);
    return static_cast<float>(large ? infinity : value);
  } else {
    return value;
  }
}

// The largest finite number of a floating-point type.
template <class T>
double largest() {
  if constexpr (std::is_same_v<T, Half>) {
    return 65504;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return std::ldexp(255.0, 120);
  } else {
    return static_cast<double>(std::numeric_limits<T>::max());
  }
}

// Element i of what member `pe` of `n` gives. Integers have all their bits, and the least and the
// greatest are among them.
template <class T>
std::enable_if_t<std::is_integral_v<T>, T> number_given(int pe, int, std::size_t i) {
  const auto number = static_cast<std::uint64_t>(pe);
  if (i % 7 == number) return std::numeric_limits<T>::min();
  if (i % 7 == 3 + number) return std::numeric_limits<T>::max();
  std::uint64_t bits = (number * 1'000'003 + i + 1) * 0x9e3779b97f4a7c15;
  bits ^= bits >> 29;
  return static_cast<T>(bits * 0xbf58476d1ce4e5b9 >> 8);
}

// Floating-point numbers of both signs, with zeros, infinities, and sums and products that are too
// large. There is one infinity or zero in an element, so that nothing becomes a NaN, of which
// nothing is promised.
template <class T>
std::enable_if_t<!std::is_integral_v<T>, double> number_given(int pe, int n, std::size_t i) {
  constexpr double kSmall[] = {-3, -1.5, -1, -0.5, 0.5, 1, 2, 3};
  const bool is_turn = static_cast<int>(i / 9 % static_cast<std::size_t>(n)) == pe;
  switch (i % 9) {
    case 2:
      if (is_turn) return 0;
      break;
    case 4:
      if (is_turn) return std::numeric_limits<double>::infinity();
      break;
    case 7:
      if (is_turn) return -std::numeric_limits<double>::infinity();
      break;
    case 5: return largest<T>();
    case 6: return -largest<T>();
    default: break;
  }
  return kSmall[(static_cast<std::size_t>(pe) * 5 + i * 3 + i / 8) % 8];
}

inline double combined(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::sum: return a + b;
    case ReduceOp::prod: return a * b;
    case ReduceOp::min: return std::min(a, b);
    default: return std::max(a, b);
  }
}
template <class T>
std::enable_if_t<std::is_integral_v<T>, T> combined(ReduceOp op, T a, T b) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  switch (op) {
    case ReduceOp::sum: return static_cast<T>(x + y);
    case ReduceOp::prod: return static_cast<T>(x * y);
    case ReduceOp::min: return std::min(a, b);
    case ReduceOp::max: return std::max(a, b);
    case ReduceOp::bit_and: return static_cast<T>(x & y);
    case ReduceOp::bit_or: return static_cast<T>(x | y);
    default: return static_cast<T>(x ^ y);
  }
}

// Elements first .. first + count - 1 of all members, combined.
template <class T>
std::vector<T> reduced(ReduceOp op, int n, std::size_t first, std::size_t count) {
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    Number<T> value = number_given<T>(0, n, first + i);
    for (int pe = 1; pe < n; ++pe) value = combined(op, value, number_given<T>(pe, n, first + i));
    all[i] = encoded<T>(value);
  }
  return all;
}

}  // namespace gdakit::test
