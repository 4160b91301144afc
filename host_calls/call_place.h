// How a call of the host is run: where, and whether it waits.
#pragma once

#include <cstring>

#include "host_calls/enqueue.h"

namespace gdakit {

// The type of T as reductions and waits know it.
template <class T>
GDAKIT_HOST_DEVICE constexpr ElementType element_type() {
  if constexpr (std::is_same_v<T, Half>) {
    return ElementType::half;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return ElementType::bfloat16;
  } else if constexpr (std::is_floating_point_v<T>) {
    static_assert(sizeof(T) <= 8, "long double cannot be reduced");
    return sizeof(T) == 4 ? ElementType::float32 : ElementType::float64;
  } else {
    static_assert(std::is_integral_v<T>, "an integer, a float, a double, Half or BFloat16");
    constexpr bool is_signed = std::is_signed_v<T>;
    switch (sizeof(T)) {
      case 1: return is_signed ? ElementType::int8 : ElementType::uint8;
      case 2: return is_signed ? ElementType::int16 : ElementType::uint16;
      case 4: return is_signed ? ElementType::int32 : ElementType::uint32;
      default: return is_signed ? ElementType::int64 : ElementType::uint64;
    }
  }
}

class HostCallPlace {
 public:
  HostCallPlace(Context& context, Stream stream, bool blocking)
      : context_(&context), stream_(stream), blocking_(blocking) {}

  Result<void> run(const HostOperation& operation) const {
    if (auto queued = enqueue(*context_, stream_, operation); !queued) return queued;
    return blocking_ && !operation.nbi ? context_->synchronize(stream_) : Result<void>();
  }
  // Always waits.
  template <class T>
  Result<T> run_for(const HostOperation& operation) const {
    if (auto queued = enqueue(*context_, stream_, operation); !queued) return queued.error();
    if (auto ended = context_->synchronize(stream_); !ended) return ended.error();
    const std::uint64_t bits = context_->host_result();
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    return value;
  }

 private:
  Context* context_;
  Stream stream_;
  bool blocking_;
};

}  // namespace gdakit
