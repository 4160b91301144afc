// Reductions whose type and operation are known when they run: one kernel serves all of them. What
// the host's collectives use.
#pragma once

#include <cstdint>

#include "device/collective/combine.h"

namespace gdakit {

enum class ElementType : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  half,
  bfloat16,
};

enum class ReduceOp : std::uint8_t { sum, prod, min, max, bit_and, bit_or, bit_xor };

GDAKIT_HOST_DEVICE constexpr std::uint64_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8: return 1;
    case ElementType::int16:
    case ElementType::uint16:
    case ElementType::half:
    case ElementType::bfloat16: return 2;
    case ElementType::int32:
    case ElementType::uint32:
    case ElementType::float32: return 4;
    case ElementType::int64:
    case ElementType::uint64:
    case ElementType::float64: return 8;
  }
  return 0;
}

GDAKIT_HOST_DEVICE constexpr bool is_integer(ElementType type) {
  return type < ElementType::float32;
}
GDAKIT_HOST_DEVICE constexpr bool is_for_integers(ReduceOp op) { return op >= ReduceOp::bit_and; }

// A reduction that there is: and, or and xor are for integers.
GDAKIT_HOST_DEVICE constexpr bool is_valid(ElementType type, ReduceOp op) {
  return bytes_of(type) != 0 && op <= ReduceOp::bit_xor &&
         (is_integer(type) || !is_for_integers(op));
}

namespace collective {

// Combine (combine.h) for a valid type and operation.
struct AnyCombine {
  ElementType type;
  ReduceOp op;

  GDAKIT_HOST_DEVICE constexpr std::uint64_t element_bytes() const { return bytes_of(type); }

  template <class M>
  GDAKIT_DEVICE_CALL void operator()(M& m, Share share, void* to, std::uint64_t count,
                                     const Inputs& inputs) const {
    const auto by = [&](auto example) {
      with_op(example, [&](auto combine) { combine(m, share, to, count, inputs); });
    };
    switch (type) {
      case ElementType::int8: return by(std::int8_t{});
      case ElementType::int16: return by(std::int16_t{});
      case ElementType::int32: return by(std::int32_t{});
      case ElementType::int64: return by(std::int64_t{});
      case ElementType::uint8: return by(std::uint8_t{});
      case ElementType::uint16: return by(std::uint16_t{});
      case ElementType::uint32: return by(std::uint32_t{});
      case ElementType::uint64: return by(std::uint64_t{});
      case ElementType::float32: return by(float{});
      case ElementType::float64: return by(double{});
      case ElementType::half: return by(Half{});
      case ElementType::bfloat16: return by(BFloat16{});
    }
  }

 private:
  template <class T, class Act>
  GDAKIT_DEVICE void with_op(T, Act&& act) const {
    switch (op) {
      case ReduceOp::sum: return act(Combine<T, Sum>{});
      case ReduceOp::prod: return act(Combine<T, Prod>{});
      case ReduceOp::min: return act(Combine<T, Min>{});
      case ReduceOp::max: return act(Combine<T, Max>{});
      default: break;
    }
    if constexpr (std::is_integral_v<T>) {
      switch (op) {
        case ReduceOp::bit_and: return act(Combine<T, And>{});
        case ReduceOp::bit_or: return act(Combine<T, Or>{});
        case ReduceOp::bit_xor: return act(Combine<T, Xor>{});
        default: break;
      }
    }
  }
};

}  // namespace collective
}  // namespace gdakit
