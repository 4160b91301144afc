// How reductions combine elements. An operation is a function object of two values of T that is
// associative and commutative; those that OpenSHMEM has stand here.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/float16.h"
#include "device/group.h"

namespace gdakit {

namespace collective {

// What values of T are added and multiplied as. Integers wrap round, which C++ promises of unsigned
// ones alone, and not of short ones: those are promoted to int.
template <class T>
GDAKIT_HOST_DEVICE constexpr auto wrapping(const T& value) {
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 4) {
    return static_cast<std::uint32_t>(value);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    return static_cast<std::uint64_t>(value);
  } else {
    return value;
  }
}

}  // namespace collective

struct Sum {
  template <class T>
  GDAKIT_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return static_cast<T>(collective::wrapping(a) + collective::wrapping(b));
  }
};
struct Prod {
  template <class T>
  GDAKIT_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return static_cast<T>(collective::wrapping(a) * collective::wrapping(b));
  }
};
struct Min {
  template <class T>
  GDAKIT_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  GDAKIT_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct And {
  template <class T>
  GDAKIT_HOST_DEVICE constexpr T operator()(T a, T b) const {
    static_assert(std::is_integral_v<T>, "and, or and xor are for integers");
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  GDAKIT_HOST_DEVICE constexpr T operator()(T a, T b) const {
    static_assert(std::is_integral_v<T>, "and, or and xor are for integers");
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  GDAKIT_HOST_DEVICE constexpr T operator()(T a, T b) const {
    static_assert(std::is_integral_v<T>, "and, or and xor are for integers");
    return static_cast<T>(a ^ b);
  }
};

namespace collective {

// The runs of elements that are combined: input k begins `step` bytes behind input k - 1, but for
// `own`, which is this member's and stands elsewhere.
struct Inputs {
  const std::byte* first;
  std::int64_t step;
  int count;
  int own = -1;
  const std::byte* own_input = nullptr;

  GDAKIT_HOST_DEVICE static Inputs of_two(const std::byte* left, const std::byte* right) {
    return {left, right - left, 2};
  }
  GDAKIT_HOST_DEVICE const std::byte* operator[](int k) const {
    return k == own ? own_input : first + step * k;
  }
};

// Elements of T combined by Op: what the algorithms below the types need of both.
template <class T, class Op>
struct Combine {
  static_assert(std::is_trivially_copyable_v<T>);
  GDAKIT_HOST_DEVICE static constexpr std::uint64_t element_bytes() { return sizeof(T); }

  // For the calling thread's share of `count` elements:
  //   to[i] = op(... op(op(inputs[0][i], inputs[1][i]), inputs[2][i]) ..., inputs[last][i])
  // An input may be `to` itself.
  template <class M>
  GDAKIT_DEVICE void operator()(M& m, Share share, void* to, std::uint64_t count,
                                const Inputs& inputs) const {
    for (std::uint64_t i = share.first; i < count; i += share.step) {
      T value = load(m, inputs[0], i);
      for (int k = 1; k < inputs.count; ++k) value = Op{}(value, load(m, inputs[k], i));
      store(m, to, i, value);
    }
  }

 private:
  static constexpr bool kIsWord =
      sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8;

  template <class M>
  GDAKIT_DEVICE static T load(M& m, const void* from, std::uint64_t i) {
    const T* const at = static_cast<const T*>(from) + i;
    if constexpr (kIsWord) {
      return m.load_weak(at);
    } else {
      T value;
      m.copy(&value, at, sizeof(T));
      return value;
    }
  }
  template <class M>
  GDAKIT_DEVICE static void store(M& m, void* to, std::uint64_t i, const T& value) {
    T* const at = static_cast<T*>(to) + i;
    if constexpr (kIsWord) {
      m.store_weak(at, value);
    } else {
      m.copy(at, &value, sizeof(T));
    }
  }
};

}  // namespace collective
}  // namespace gdakit
