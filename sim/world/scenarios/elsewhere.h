// Memory of scenarios that lies where no word of the heap does.
#pragma once

#include <cstdint>

namespace gdakit::sim::scenarios {

// Four words in no heap and in no buffer.
inline std::uint64_t* stranger() {
  static std::uint64_t words[4] = {};
  return words;
}

// Eight bytes that may lie anywhere.
struct Octet {
  std::uint8_t bytes[8];
};

}  // namespace gdakit::sim::scenarios
