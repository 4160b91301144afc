// How far two texts are apart, for those who mistype names.
#pragma once

#include <cstddef>
#include <string_view>

namespace gdakit {

// How many characters must be changed, put in or left out to make one text of the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

// Whether the one who typed `typed` may have meant a text so far from it.
inline bool may_be_meant(std::string_view typed, std::size_t distance) {
  return distance <= 1 + typed.size() / 4;
}

}  // namespace gdakit
