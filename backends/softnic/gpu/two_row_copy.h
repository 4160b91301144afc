// How a small copy is made of copies of two rows, so that the copy engine does it (copy_context.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace gdakit::softnic {

// Two rows from the beginning of the copy, one behind the other, and, if there is an odd word left,
// two more at its end, which overlap with the first ones.
struct TwoRows {
  std::size_t row_bytes = 0;      // 0: the copy is one word, and has no rows
  std::size_t end_row_bytes = 0;  // 0: there is no word left
};

// Rows consist of whole words, the longest of up to 8 bytes that `size`, at least 1, and the
// address of the copy are multiples of.
constexpr TwoRows two_rows(std::uint64_t to, std::size_t size) {
  const std::size_t word = std::size_t{1} << std::countr_zero(to | size | 8);
  const std::size_t words = size / word;
  return {words / 2 * word, words > 1 && words % 2 == 1 ? word : 0};
}

}  // namespace gdakit::softnic
