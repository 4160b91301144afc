// Copies made of two rows.
#include "backends/softnic/two_rows.h"

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

// How many bytes from the beginning on, and from the end back, the rows of `rows` cover.
std::size_t covered(const TwoRows& rows) { return 2 * rows.row_bytes + rows.end_row_bytes; }

TEST(TwoRows, CoverTheCopyAndNothingElse) {
  for (std::size_t size = 1; size <= 4096; ++size) {
    const TwoRows rows = two_rows(size);
    if (rows.row_bytes == 0) continue;
    EXPECT_EQ(covered(rows), size);
    EXPECT_LE(2 * rows.end_row_bytes, size);
  }
}

TEST(TwoRows, SplitNoWord) {
  for (std::size_t size = 1; size <= 4096; ++size) {
    const TwoRows rows = two_rows(size);
    for (const std::size_t word : {2u, 4u, 8u}) {
      if (size % word != 0) continue;
      EXPECT_EQ(rows.row_bytes % word, 0u) << size;
      EXPECT_EQ(rows.end_row_bytes % word, 0u) << size;
    }
  }
}

TEST(TwoRows, OneWordHasNone) {
  for (std::size_t size = 1; size <= 4096; ++size) {
    const bool one_word = size == 1 || size == 2 || size == 4 || size == 8;
    EXPECT_EQ(two_rows(size).row_bytes == 0, one_word) << size;
  }
}

}  // namespace
}  // namespace gdakit::softnic
