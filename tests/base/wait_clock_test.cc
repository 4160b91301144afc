// What WaitClock counts, and what limits by it do.
#include "core/base/wait_clock.h"

#include <gtest/gtest.h>

namespace gdakit {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kLead = WaitClock::kLead;

// A clock whose steady time the test says.
struct Rig {
  std::uint64_t now(std::uint64_t moment) const {
    return clock.now_by([moment] { return moment; });
  }
  // Ticks every 50 ms until `to`.
  void run(std::uint64_t to, bool stands = false) {
    for (; steady <= to; steady += kSecond / 20) clock.tick(steady, stands);
  }
  WaitClock clock;
  std::uint64_t steady = 0;
};

TEST(WaitClock, IsSteadyTimeWhereNobodyStops) {
  Rig rig;
  EXPECT_EQ(rig.now(70 * kSecond), 70 * kSecond) << "before the first tick";
  rig.run(3 * kSecond);
  EXPECT_EQ(rig.now(3 * kSecond), 3 * kSecond);
  EXPECT_EQ(rig.now(3 * kSecond + kLead / 2), 3 * kSecond + kLead / 2);
}

TEST(WaitClock, CountsNoTimeInWhichTheProcessDidNotRun) {
  Rig rig;
  rig.run(2 * kSecond);
  EXPECT_EQ(rig.now(60 * kSecond), 2 * kSecond + kLead) << "before the next tick";
  rig.clock.tick(60 * kSecond, false);
  EXPECT_EQ(rig.now(60 * kSecond), 2 * kSecond + kLead);
  EXPECT_EQ(rig.now(60 * kSecond + 1), 2 * kSecond + kLead + 1) << "and it goes on from there";
}

TEST(WaitClock, StandsWhileItsOwnerSaysSo) {
  Rig rig;
  rig.run(2 * kSecond);
  rig.run(60 * kSecond, /*stands=*/true);
  EXPECT_EQ(rig.now(60 * kSecond), 2 * kSecond + kLead);
  rig.run(61 * kSecond);
  const std::uint64_t later = rig.now(61 * kSecond);
  EXPECT_GE(later, 3 * kSecond);
  EXPECT_LE(later, 3 * kSecond + 2 * kLead);
}

TEST(WaitClock, RunsByItselfOnceNobodyTicksIt) {
  Rig rig;
  rig.run(2 * kSecond);
  rig.clock.run_freely(2 * kSecond);
  EXPECT_EQ(rig.now(100 * kSecond), 100 * kSecond);
}

TEST(WaitLimit, PassesByTheClockItIsGiven) {
  const auto clock = std::make_shared<WaitClock>();
  clock->tick(steady_ns() - 60 * kSecond, false);  // and no tick since
  const WaitLimit limit(clock, std::chrono::nanoseconds(1));
  EXPECT_FALSE(limit.passed());
  EXPECT_GT(limit.rest().count(), 0);
  clock->tick(steady_ns(), false);
  while (!limit.passed()) continue;
}

TEST(WaitLimit, PassesBySteadyTimeWithoutAClock) {
  EXPECT_TRUE(WaitLimit(nullptr, std::chrono::nanoseconds(0)).passed());
  const WaitLimit hour(nullptr, std::chrono::hours(1));
  EXPECT_FALSE(hour.passed());
  EXPECT_LE(hour.rest(), std::chrono::hours(1));
}

}  // namespace
}  // namespace gdakit
