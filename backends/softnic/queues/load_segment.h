// A segment of a WQE, out of the bytes that were read of it.
#pragma once

#include <cstdint>
#include <cstring>

namespace gdakit::softnic {

template <class Segment>
Segment load(const std::uint8_t* from) {
  Segment segment;
  std::memcpy(&segment, from, sizeof segment);
  return segment;
}

}  // namespace gdakit::softnic
