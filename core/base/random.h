// Random numbers of the system's, for what others are not to guess or to meet by accident.
#pragma once

#include <cstdint>
#include <random>

namespace gdakit {

inline std::uint64_t random_u64() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace gdakit
