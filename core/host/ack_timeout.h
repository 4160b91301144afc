// The time after which a NIC sends again.
#pragma once

#include <chrono>
#include <cstdint>

namespace gdakit {

// The code n of the time-out of 4.096 us * 2^n of a NIC that gives up after `total`, which is after
// `tries` of them; 0 is never. Wires within a host lose nothing, so a long one costs nothing.
inline std::uint8_t ack_timeout_code(std::chrono::milliseconds total, std::uint64_t tries) {
  const auto wanted = static_cast<std::uint64_t>(std::chrono::nanoseconds(total).count());
  if (wanted == 0) return 0;
  std::uint8_t code = 1;
  while ((std::uint64_t{4096} << code) * tries < wanted) ++code;
  return code;
}

}  // namespace gdakit
