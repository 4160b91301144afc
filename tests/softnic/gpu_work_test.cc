// Which operations GpuWork lets helper kernels run side by side.
#include "backends/softnic/gpu/gpu_work.h"

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

constexpr std::uint64_t kLarge = 4 * kGpuSmallCopy;

DmaAddress at(std::uint64_t place) { return {place << 20 | kGpuMemoryBit}; }

class GpuWorkLevels : public testing::Test {
 protected:
  std::uint32_t copy(std::uint64_t chain, DmaAddress to, DmaAddress from,
                     std::uint64_t size = kLarge) {
    work.add_copy(chain, to, from, size, false, 0);
    return work.lists[work.ops.back().list].level;
  }
  std::uint32_t end_message(std::uint64_t chain, DmaAddress to, DmaAddress from,
                            std::uint64_t size = kLarge) {
    work.add_copy(chain, to, from, size, false, last_word(to, size));
    return work.lists[work.ops.back().list].level;
  }
  std::uint32_t word(std::uint64_t chain, DmaAddress to) {
    work.add_word(chain, to, 1, 8);
    return work.lists[work.ops.back().list].level;
  }

  GpuWork work;
};

TEST_F(GpuWorkLevels, LargeCopiesThatDoNotTouchRunSideBySide) {
  EXPECT_EQ(copy(1, at(1), at(5)), 1u);
  EXPECT_EQ(copy(1, at(2), at(6)), 1u);
  EXPECT_EQ(copy(1, at(2) + kLarge, at(5)), 1u);  // both read the same
  EXPECT_EQ(work.levels.size(), 2u);
}

TEST_F(GpuWorkLevels, ACopyOverAnEarlierOneComesAfterIt) {
  EXPECT_EQ(copy(1, at(1), at(5)), 1u);
  EXPECT_EQ(copy(1, at(1) + (kLarge - 1), at(6)), 3u);
  EXPECT_EQ(copy(1, at(2), at(7)), 3u);
}

TEST_F(GpuWorkLevels, ACopyOfWhatAnEarlierOneWritesComesAfterIt) {
  EXPECT_EQ(copy(1, at(1), at(5)), 1u);
  EXPECT_EQ(copy(1, at(2), at(1) + (kLarge - 1)), 3u);
}

TEST_F(GpuWorkLevels, ACopyOverWhatAnEarlierOneReadsComesAfterIt) {
  EXPECT_EQ(copy(1, at(1), at(5)), 1u);
  EXPECT_EQ(copy(1, at(5), at(6)), 3u);
}

TEST_F(GpuWorkLevels, SmallAndLargeOperationsOfAChainTakeTurns) {
  EXPECT_EQ(word(1, at(1)), 0u);
  EXPECT_EQ(word(1, at(1)), 0u);
  EXPECT_EQ(copy(1, at(2), at(5)), 1u);
  EXPECT_EQ(word(1, at(1)), 2u);
  EXPECT_EQ(copy(1, at(2), at(5), 8), 2u);
  EXPECT_EQ(copy(1, at(2), at(5)), 3u);
}

TEST_F(GpuWorkLevels, ChainsDoNotWaitForEachOther) {
  EXPECT_EQ(copy(1, at(1), at(5)), 1u);
  EXPECT_EQ(copy(2, at(1), at(5)), 1u);
  EXPECT_EQ(word(2, at(1)), 2u);
  EXPECT_EQ(word(3, at(1)), 0u);
}

// A message ends with a marked copy.
TEST_F(GpuWorkLevels, ShortMessagesOfAChainAreOnePiece) {
  for (std::uint64_t i = 1; i != 4; ++i) {
    EXPECT_EQ(end_message(1, at(i), at(5), kGpuChunkBytes), 1u);
    EXPECT_EQ(end_message(2, at(i), at(5), kGpuSmallCopy + 1), 1u);
  }
  EXPECT_EQ(work.levels[1].pieces, 2u);
  EXPECT_EQ(work.levels[1].ops, 6u);
}

TEST_F(GpuWorkLevels, ALongMessageComesAfterTheOneBeforeIt) {
  EXPECT_EQ(end_message(1, at(1), at(5), kGpuChunkBytes), 1u);
  EXPECT_EQ(end_message(1, at(2), at(6), kGpuChunkBytes + 1), 3u);
  EXPECT_EQ(end_message(1, at(3), at(7), kGpuChunkBytes + 1), 5u);
  EXPECT_EQ(end_message(1, at(4), at(8), kGpuChunkBytes), 7u);
  EXPECT_EQ(end_message(2, at(3), at(7), kGpuChunkBytes + 1), 1u);
}

TEST_F(GpuWorkLevels, CopiesOfOneMessageRunSideBySide) {
  EXPECT_EQ(copy(1, at(1), at(5)), 1u);
  EXPECT_EQ(end_message(1, at(2), at(6)), 1u);
  EXPECT_EQ(copy(1, at(3), at(7)), 3u);
  EXPECT_EQ(end_message(1, at(4), at(8)), 3u);
}

TEST_F(GpuWorkLevels, ALongMessageIsReadEarlyUnlessThoseBeforeItWriteItsSource) {
  constexpr std::uint64_t kLong = kGpuChunkBytes + 1;
  end_message(1, at(1), at(5), kLong);
  end_message(1, at(2), at(6), kLong);
  EXPECT_TRUE(work.ops.back().early);
  end_message(1, at(3), at(1), kLong);
  EXPECT_FALSE(work.ops.back().early);
  word(1, at(9));  // a launch of its own
  end_message(1, at(4), at(1), kLong);
  EXPECT_TRUE(work.ops.back().early);
}

TEST(LastWord, IsTheLongestAlignedWordThatEndsTheRange) {
  EXPECT_EQ(last_word(at(1), 64), 8u);
  EXPECT_EQ(last_word(at(1), 60), 4u);
  EXPECT_EQ(last_word(at(1) + 1, 63), 8u);
  EXPECT_EQ(last_word(at(1), 33), 1u);
  EXPECT_EQ(last_word(at(1) + 4, 8), 4u);
}

TEST(LastWord, IsNotAllOfTheRange) {
  EXPECT_EQ(last_word(at(1) + 1, 7), 4u);
  EXPECT_EQ(last_word(at(1) + 1, 2), 1u);
  for (const std::uint64_t size : {0u, 1u, 2u, 4u, 8u}) EXPECT_EQ(last_word(at(1), size), 0u);
}

}  // namespace
}  // namespace gdakit::softnic
