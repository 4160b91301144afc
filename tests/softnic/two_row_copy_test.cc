// Copies made of two rows.
#include "backends/softnic/gpu/two_row_copy.h"

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

constexpr std::size_t kLongest = 4096;
constexpr std::uint64_t kAligned = 65536;

// How many bytes from the beginning on, and from the end back, the rows of `rows` cover.
std::size_t covered(const TwoRows& rows) { return 2 * rows.row_bytes + rows.end_row_bytes; }

template <class Check>
void for_all_copies(const Check& check) {
  for (std::uint64_t to = kAligned; to != kAligned + 8; ++to) {
    for (std::size_t size = 1; size <= kLongest; ++size) check(to, size, two_rows(to, size));
  }
}

TEST(TwoRows, CoverTheCopyAndNothingElse) {
  for_all_copies([](std::uint64_t, std::size_t size, const TwoRows& rows) {
    if (rows.row_bytes == 0) return;
    EXPECT_EQ(covered(rows), size);
    EXPECT_LE(2 * rows.end_row_bytes, size);
  });
}

TEST(TwoRows, SplitNoWord) {
  for_all_copies([](std::uint64_t to, std::size_t size, const TwoRows& rows) {
    for (const std::size_t word : {2u, 4u, 8u}) {
      if ((to | size) % word != 0) continue;
      EXPECT_EQ(rows.row_bytes % word, 0u) << to << ' ' << size;
      EXPECT_EQ(rows.end_row_bytes % word, 0u) << to << ' ' << size;
    }
  });
}

TEST(TwoRows, OneWordHasNone) {
  for_all_copies([](std::uint64_t to, std::size_t size, const TwoRows& rows) {
    const bool power = size == 1 || size == 2 || size == 4 || size == 8;
    EXPECT_EQ(rows.row_bytes == 0, power && to % size == 0) << to << ' ' << size;
  });
}

TEST(OrderedCopy, TheLastCopyBringsButItsLastRow) {
  for_all_copies([](std::uint64_t to, std::size_t size, const TwoRows& rows) {
    const OrderedCopy parts = ordered_copy(to, size);
    if (parts.last_bytes == 0) {
      const bool two = size == 2 * row_word(to, size);
      EXPECT_TRUE(two || rows.row_bytes == 0 || rows.end_row_bytes != 0) << to << ' ' << size;
      return;
    }
    EXPECT_EQ(parts.first_bytes + parts.last_bytes / 2, size);
    EXPECT_LE(parts.last_bytes, size);
  });
}

TEST(OrderedCopy, NeitherCopyIsOneWord) {
  const auto check = [](std::uint64_t to, std::size_t size) {
    const OrderedCopy parts = ordered_copy(to, size);
    if (parts.last_bytes == 0) return;
    EXPECT_NE(two_rows(to, parts.first_bytes).row_bytes, 0u) << to << ' ' << size;
    const TwoRows last = two_rows(to + size - parts.last_bytes, parts.last_bytes);
    EXPECT_EQ(last.row_bytes, parts.last_bytes / 2) << to << ' ' << size;
  };
  for_all_copies([&](std::uint64_t to, std::size_t size, const TwoRows&) { check(to, size); });
  for (std::uint64_t to = kAligned; to != kAligned + 8; ++to) {
    for (std::size_t size = kLargeCopy - 9; size != kLargeCopy + 20; ++size) check(to, size);
  }
}

}  // namespace
}  // namespace gdakit::softnic
