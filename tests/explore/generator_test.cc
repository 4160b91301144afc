#include "sim/explore/generator.h"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace gdakit::sim {
namespace {

// Tokens name executions by their seeds, so these numbers must never change.
TEST(Generator, GivesTheSameNumbersEverywhere) {
  Generator random(0x5f3a, 7);
  EXPECT_EQ(random.next(), 15990085165972829908u);
  EXPECT_EQ(random.next(), 13314161292537451979u);
  EXPECT_EQ(random.below(1000), 344u);
}

TEST(Generator, StreamsAndSeedsDiffer) {
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::uint64_t stream = 0; stream < 100; ++stream) {
      first.insert(Generator(seed, stream).next());
    }
  }
  EXPECT_EQ(first.size(), 10000u);
}

TEST(Generator, BelowIsEvenAndStaysBelow) {
  Generator random(1, 1);
  std::array<int, 5> counts{};
  for (int i = 0; i < 50000; ++i) ++counts.at(random.below(5));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
  EXPECT_EQ(random.below(1), 0u);
}

TEST(Generator, ChanceKeepsItsOdds) {
  Generator random(2, 0);
  int quarter = 0;
  for (int i = 0; i < 40000; ++i) {
    EXPECT_FALSE(random.chance(Odds::never()));
    EXPECT_TRUE(random.chance(Odds::always()));
    quarter += random.chance(Odds::of(1, 4));
  }
  EXPECT_NEAR(quarter, 10000, 400);
}

}  // namespace
}  // namespace gdakit::sim
