#include "tests/mlx5/random_answers.h"

#include <random>

#include <gtest/gtest.h>

namespace gdakit::mlx5 {
namespace {

TEST(RandomAnswers, EndInAnErrorThatNamesTheCallAndLeaveNothingBehind) {
  constexpr unsigned kRuns = 5'000;
  unsigned opened = 0;
  std::size_t created = 0, connected = 0, initiators = 0, addressed = 0;
  for (unsigned seed = 1; seed <= kRuns; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&random](std::uint32_t limit) {
      return static_cast<std::uint32_t>(random()) % limit;
    };
    const RandomRun run = play_random_answers(draw);
    ASSERT_EQ(run.wrong, "") << "seed " << seed;
    opened += run.opened ? 1 : 0;
    created += run.created;
    connected += run.connected;
    initiators += run.initiators;
    addressed += run.addressed;
  }
  // It comes to each call, and not always beyond it.
  EXPECT_GT(opened, kRuns / 4);
  EXPECT_LT(opened, kRuns);
  EXPECT_GT(created, kRuns / 2);
  EXPECT_GT(connected, kRuns / 4);
  EXPECT_LT(connected, created);
  for (const std::size_t of_dc : {initiators, addressed}) {
    EXPECT_GT(of_dc, kRuns / 8);
    EXPECT_LT(of_dc, opened);
  }
}

}  // namespace
}  // namespace gdakit::mlx5
