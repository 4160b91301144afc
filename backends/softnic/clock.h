// The soft NIC's clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace gdakit::softnic {

// Nanoseconds since an arbitrary moment; never runs backwards.
inline std::uint64_t steady_now_ns() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::steady_clock;
  const auto since = steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(duration_cast<nanoseconds>(since).count());
}

}  // namespace gdakit::softnic
