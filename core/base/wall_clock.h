// The time of day, for files that others read. It may be set back or forth at any time; what is
// measured or waited for goes by steady_ns() (wait_clock.h).
#pragma once

#include <chrono>
#include <cstdint>

namespace gdakit {

// Since 1970.
inline std::uint64_t wall_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}
inline std::uint64_t wall_ms() { return wall_ns() / 1'000'000; }

}  // namespace gdakit
