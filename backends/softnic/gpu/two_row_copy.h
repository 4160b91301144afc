// How a small copy is made of copies of two rows, so that the copy engine does it (copy_context.h),
// and how a copy of any size is made of two of which the last byte arrives last.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace gdakit::softnic {

// From this size on CUDA has the copy engine do every copy.
inline constexpr std::size_t kLargeCopy = 32 * 1024;

// Rows consist of whole words, the longest of up to 8 bytes that `size`, at least 1, and the
// address of the copy are multiples of.
constexpr std::size_t row_word(std::uint64_t to, std::size_t size) {
  return std::size_t{1} << std::countr_zero(to | size | 8);
}

// Two rows from the beginning of the copy, one behind the other, and then, if there is an odd word
// left, two more at its end, which overlap with the first ones. The two rows of a copy arrive in
// any order.
struct TwoRows {
  std::size_t row_bytes = 0;      // 0: the copy is one word, and has no rows
  std::size_t end_row_bytes = 0;  // 0: there is no word left
};

constexpr TwoRows two_rows(std::uint64_t to, std::size_t size) {
  const std::size_t word = row_word(to, size);
  const std::size_t words = size / word;
  return {words / 2 * word, words > 1 && words % 2 == 1 ? word : 0};
}

// A copy of the first bytes, then one of the last ones, whose first row has arrived already.
struct OrderedCopy {
  std::size_t first_bytes = 0;
  std::size_t last_bytes = 0;  // 0: the first copy is all
};

// An odd word comes last by itself. Two words go in one copy, in any order: the copy engine is slow
// at one alone.
constexpr OrderedCopy ordered_copy(std::uint64_t to, std::size_t size) {
  const std::size_t words = size / row_word(to, size);
  if (words <= 2 || (size < kLargeCopy && words % 2 == 1)) return {size, 0};
  const std::size_t last = std::size_t{1} << std::countr_zero((to + size) | 8);
  return {size - last, 2 * last};
}

}  // namespace gdakit::softnic
