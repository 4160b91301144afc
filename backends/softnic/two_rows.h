// How a small copy is made of copies of two rows, so that the copy engine does it (copy_context.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace gdakit::softnic {

// Two rows from the beginning of the copy, one behind the other, and, if there is an odd word left,
// two more at its end, which overlap with the first ones.
struct TwoRows {
  std::size_t row_bytes = 0;      // 0: the copy is one word, and has no rows
  std::size_t end_row_bytes = 0;  // 0: there is no word left
};

// Rows consist of whole words, the longest of up to 8 bytes that `size`, at least 1, is a multiple
// of.
constexpr TwoRows two_rows(std::size_t size) {
  const std::size_t word = std::min<std::size_t>(std::size_t{1} << std::countr_zero(size), 8);
  const std::size_t words = size / word;
  return {words / 2 * word, words > 1 && words % 2 == 1 ? word : 0};
}

}  // namespace gdakit::softnic
