#include "core/base/bits.h"

#include <bit>
#include <cstdint>

#include <gtest/gtest.h>

namespace gdakit {
namespace {

TEST(PowerOfTwo, IsAWordWithOneBit) {
  static_assert(is_power_of_two(1) && is_power_of_two(64) && is_power_of_two(1ull << 63));
  static_assert(!is_power_of_two(0) && !is_power_of_two(3) && !is_power_of_two(~0ull));
  EXPECT_FALSE(is_power_of_two(65));
}

TEST(Round, GoesUpToTheUnit) {
  static_assert(round_up(0, 64) == 0 && round_up(1, 64) == 64 && round_up(64, 64) == 64);
  static_assert(divide_up(0, 7) == 0 && divide_up(1, 7) == 1 && divide_up(14, 7) == 2);
  EXPECT_EQ(round_up(65, 64), 128u);
  EXPECT_EQ(divide_up(15, 7), 3u);
}

TEST(Logarithms, AreExactAtPowersAndRoundBetweenThem) {
  for (int log = 0; log < 64; ++log) {
    const std::uint64_t power = 1ull << log;
    EXPECT_EQ(log2_floor(power), log);
    EXPECT_EQ(log2_ceil(power), log);
    if (log < 2) continue;
    EXPECT_EQ(log2_floor(power - 1), log - 1);
    EXPECT_EQ(log2_ceil(power - 1), log);
    EXPECT_EQ(log2_ceil(power / 2 + 1), log);
  }
  static_assert(log2_floor(~0ull) == 63);
}

TEST(Bits, AgreeWithTheStandardOnes) {
  std::uint64_t value = 0x9e3779b97f4a7c15;
  for (int turn = 0; turn < 1000; ++turn) {
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
    EXPECT_EQ(count_bits(value), std::popcount(value));
    EXPECT_EQ(lowest_bit(value), std::countr_zero(value));
    EXPECT_EQ(log2_floor(value), 63 - std::countl_zero(value));
  }
}

TEST(Bits, HaveAnAnswerForTheEmptyWord) {
  static_assert(lowest_bit(std::uint64_t{0}) == 64 && count_bits(std::uint64_t{0}) == 0);
  static_assert(lowest_bit(std::uint32_t{0}) == 32 && lowest_bit(std::uint32_t{8}) == 3);
  EXPECT_EQ(count_bits(0xf0f00001u), 9);
  EXPECT_EQ(lowest_bit(std::uint64_t{1} << 63), 63);
}

TEST(LowBits, FillFromTheBottom) {
  static_assert(low_bits(0) == 0 && low_bits(1) == 1 && low_bits(32) == 0xffffffff);
  static_assert(low_bits(63) == ~0ull >> 1 && low_bits(64) == ~0ull);
  EXPECT_EQ(low_bits(12), 0xfffu);
}

TEST(BitCast, KeepsTheRepresentation) {
  static_assert(bit_cast<std::uint32_t>(1.0f) == 0x3f800000);
  EXPECT_EQ(bit_cast<double>(std::uint64_t{0x4000000000000000}), 2.0);
}

}  // namespace
}  // namespace gdakit
