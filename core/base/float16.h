// Half and BFloat16: the two 16-bit floating-point formats as plain values, with arithmetic by way
// of float, rounded to nearest even. The same on every compiler and on a GPU; the CUDA Toolkit's
// __half and __nv_bfloat16 have the same bits.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/annotate.h"
#include "core/base/bits.h"

namespace gdakit {

// The top `kMantissa` bits of a float's mantissa stay; ties go to even. `bits` is no NaN.
GDAKIT_HOST_DEVICE constexpr std::uint32_t round_to_even(std::uint32_t bits, int dropped) {
  const std::uint32_t half = std::uint32_t{1} << (dropped - 1);
  const std::uint32_t odd = (bits >> dropped) & 1u;
  return (bits + half - 1 + odd) >> dropped;
}

// IEEE 754 binary16: 1 sign, 5 exponent and 10 mantissa bits.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  GDAKIT_HOST_DEVICE constexpr explicit Half(float value) : bits(from(value)) {}
  GDAKIT_HOST_DEVICE static constexpr Half from_bits(std::uint16_t bits) {
    Half half;
    half.bits = bits;
    return half;
  }

  GDAKIT_HOST_DEVICE constexpr explicit operator float() const {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    std::uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0x1fu) return bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent != 0) return bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
    // A subnormal is its mantissa times 2^-24, exactly.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return bit_cast<float>(bit_cast<std::uint32_t>(magnitude) | sign);
  }

 private:
  GDAKIT_HOST_DEVICE static constexpr std::uint16_t from(float value) {
    const std::uint32_t word = bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (word >> 16) & 0x8000u;
    const std::uint32_t magnitude = word & 0x7fffffffu;
    std::uint32_t half = 0;
    if (magnitude > 0x7f800000u) {
      half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);  // a NaN stays one
    } else if (magnitude >= 0x47800000u) {
      half = 0x7c00u;  // 2^16 and more
    } else if (magnitude >= 0x38800000u) {
      half = round_to_even(magnitude - (112u << 23), 13);  // may carry into infinity, rightly
    } else if (magnitude > 0x33000000u) {
      // A subnormal: the mantissa with its hidden bit, in units of 2^-24.
      const int shift = 126 - static_cast<int>(magnitude >> 23);
      half = round_to_even((magnitude & 0x7fffffu) | 0x800000u, shift);
    }
    return static_cast<std::uint16_t>(sign | half);
  }
};

// The upper half of a float: 1 sign, 8 exponent and 7 mantissa bits.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  GDAKIT_HOST_DEVICE constexpr explicit BFloat16(float value) : bits(from(value)) {}
  GDAKIT_HOST_DEVICE static constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 number;
    number.bits = bits;
    return number;
  }

  GDAKIT_HOST_DEVICE constexpr explicit operator float() const {
    return bit_cast<float>(std::uint32_t{bits} << 16);
  }

 private:
  GDAKIT_HOST_DEVICE static constexpr std::uint16_t from(float value) {
    const std::uint32_t word = bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((word >> 16) | 0x40u);
    return static_cast<std::uint16_t>(round_to_even(word, 16));
  }
};

template <class T>
inline constexpr bool is_float16 = false;
template <>
inline constexpr bool is_float16<Half> = true;
template <>
inline constexpr bool is_float16<BFloat16> = true;

template <class T, class Returned>
using IfFloat16 = std::enable_if_t<is_float16<T>, Returned>;

template <class T>
GDAKIT_HOST_DEVICE constexpr IfFloat16<T, T> operator+(T a, T b) {
  return T(static_cast<float>(a) + static_cast<float>(b));
}
template <class T>
GDAKIT_HOST_DEVICE constexpr IfFloat16<T, T> operator*(T a, T b) {
  return T(static_cast<float>(a) * static_cast<float>(b));
}
template <class T>
GDAKIT_HOST_DEVICE constexpr IfFloat16<T, bool> operator<(T a, T b) {
  return static_cast<float>(a) < static_cast<float>(b);
}
template <class T>
GDAKIT_HOST_DEVICE constexpr IfFloat16<T, bool> operator==(T a, T b) {
  return static_cast<float>(a) == static_cast<float>(b);
}
template <class T>
GDAKIT_HOST_DEVICE constexpr IfFloat16<T, bool> operator!=(T a, T b) {
  return !(a == b);
}

}  // namespace gdakit
