// The time after which a NIC sends again.
#pragma once

#include <chrono>
#include <cstdint>

namespace gdakit {

// The code n of the time-out of 4.096 us * 2^n of a NIC that gives up after `tries` of them: the
// least with which that is `total` or more; 0 is never. (InfiniBand lets a NIC wait up to four
// times as long.)
inline std::uint8_t ack_timeout_code(std::chrono::milliseconds total, std::uint64_t tries) {
  const auto wanted = static_cast<std::uint64_t>(std::chrono::nanoseconds(total).count());
  if (wanted == 0) return 0;
  std::uint8_t code = 1;
  while ((std::uint64_t{4096} << code) * tries < wanted) ++code;
  return code;
}

}  // namespace gdakit
