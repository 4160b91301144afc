// The arithmetic of DCQCN's reaction point.
#include "backends/softnic/transport/rate_limit.h"

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

constexpr std::uint64_t kLine = RateLimit::kLineRate;
constexpr std::uint64_t kPeriod = RateLimit::kIncreasePeriodNs;

// One that has had so many CNPs at once, at time 0.
RateLimit after_cnps(int count) {
  RateLimit limit;
  for (; count != 0; --count) limit.notified(0);
  return limit;
}

TEST(RateLimit, LimitsNothingUntilACnpComes) {
  RateLimit limit;
  limit.sent(1 << 30, 0);
  limit.advance(5);
  EXPECT_FALSE(limit.limits());
  EXPECT_EQ(limit.next_ns(), 0u);
}

TEST(RateLimit, IsHalvedByTheFirstCnp) {
  const RateLimit limit = after_cnps(1);
  EXPECT_TRUE(limit.limits());
  EXPECT_EQ(limit.rate(), kLine / 2);
  EXPECT_EQ(limit.target(), kLine);
  EXPECT_DOUBLE_EQ(limit.alpha(), 1);
}

TEST(RateLimit, FallsByHalfOfAlpha) {
  RateLimit limit = after_cnps(1);
  limit.advance(2 * RateLimit::kAlphaPeriodNs);
  constexpr double kAlpha = (255.0 / 256) * (255.0 / 256);
  EXPECT_DOUBLE_EQ(limit.alpha(), kAlpha);
  const auto before = static_cast<double>(limit.rate());
  limit.notified(2 * RateLimit::kAlphaPeriodNs);
  EXPECT_NEAR(static_cast<double>(limit.rate()), before * (1 - kAlpha / 2), 1);
  EXPECT_NEAR(static_cast<double>(limit.target()), before, 1);
  EXPECT_DOUBLE_EQ(limit.alpha(), kAlpha * 255 / 256 + 1.0 / 256);
}

TEST(RateLimit, TheFirstCnpInALongTimeHalvesIt) {
  RateLimit limit;
  limit.notified(3'600'000'000'000);
  EXPECT_EQ(limit.rate(), kLine / 2);
  limit.notified(7'200'000'000'000);
  EXPECT_EQ(limit.rate(), kLine / 2);
}

TEST(RateLimit, NeverFallsBelowTheLeast) {
  EXPECT_EQ(after_cnps(1000).rate(), RateLimit::kLeastRate);
}

TEST(RateLimit, AlphaFadesWithoutCnps) {
  RateLimit limit = after_cnps(3);
  limit.advance(1'000'000'000'000);
  EXPECT_LT(limit.alpha(), 1e-6);
}

TEST(RateLimit, ComesHalfOfTheWayBackFiveTimes) {
  RateLimit limit = after_cnps(1);
  for (std::uint64_t period = 1; period <= RateLimit::kFastRecoveries; ++period) {
    limit.advance(period * kPeriod - 1);
    EXPECT_EQ(limit.rate(), kLine - (kLine >> period)) << "before period " << period;
    limit.advance(period * kPeriod);
    EXPECT_EQ(limit.target(), kLine);
    EXPECT_NEAR(static_cast<double>(limit.rate()),
                static_cast<double>(kLine - (kLine >> (period + 1))), 1);
  }
}

TEST(RateLimit, ThenItsTargetRisesByALittle) {
  RateLimit limit = after_cnps(2);
  limit.advance(5 * kPeriod);
  EXPECT_EQ(limit.target(), kLine / 2);
  limit.advance(6 * kPeriod);
  EXPECT_EQ(limit.target(), kLine / 2 + RateLimit::kAdditiveRate);
  limit.advance(8 * kPeriod);
  EXPECT_EQ(limit.target(), kLine / 2 + 3 * RateLimit::kAdditiveRate);
}

TEST(RateLimit, AndFastWhenManyBytesHaveGoneToo) {
  RateLimit limit = after_cnps(2);
  limit.advance(6 * kPeriod);
  const std::uint64_t target = limit.target();
  limit.sent(5 * RateLimit::kIncreaseBytes, 6 * kPeriod);
  EXPECT_EQ(limit.target(), target + 5 * RateLimit::kAdditiveRate);
  limit.sent(RateLimit::kIncreaseBytes, 6 * kPeriod);
  EXPECT_EQ(limit.target(), target + 5 * RateLimit::kAdditiveRate + RateLimit::kHyperRate);
}

TEST(RateLimit, ComesBackToTheLinesRateAndLimitsNothing) {
  RateLimit limit = after_cnps(50);
  limit.advance(1'000'000'000);
  EXPECT_FALSE(limit.limits());
  EXPECT_EQ(limit.next_ns(), 0u);
}

// However rarely it is asked.
TEST(RateLimit, IsTheSameAfterOneLongTimeAsAfterManyShortOnes) {
  RateLimit once = after_cnps(4), often = after_cnps(4);
  once.advance(40 * kPeriod + 7);
  for (std::uint64_t now_ns = 0; now_ns <= 40 * kPeriod + 7; now_ns += 1000) often.advance(now_ns);
  EXPECT_EQ(once.rate(), often.rate());
  EXPECT_EQ(once.target(), often.target());
  EXPECT_DOUBLE_EQ(once.alpha(), often.alpha());
}

TEST(RateLimit, HoldsBackUntilTheBytesHaveGone) {
  RateLimit limit;
  constexpr std::uint64_t kNow = 1'000'000;
  limit.notified(kNow);  // 6.25 bytes a ns
  limit.sent(6250, kNow);
  EXPECT_EQ(limit.next_ns(), kNow + 1000);
  limit.sent(6250, kNow);
  EXPECT_EQ(limit.next_ns(), kNow + 2000);
}

TEST(RateLimit, MakesUpForAShortDelayAndNoMore) {
  RateLimit limit;
  limit.notified(1'000'000);
  limit.sent(6250, 1'000'000 + 20'000);
  EXPECT_EQ(limit.next_ns(), 1'000'000u + 1000);
  RateLimit late;
  late.notified(1'000'000);
  late.sent(6250, 1'054'000);
  EXPECT_EQ(late.next_ns(), 1'054'000 - RateLimit::kCatchUpNs + 1000);
}

TEST(RateLimit, APauseIsBounded) {
  RateLimit limit = after_cnps(1000);
  limit.sent(100'000'000, 0);
  EXPECT_LE(limit.next_ns(), RateLimit::kLongestPauseNs);
}

}  // namespace
}  // namespace gdakit::softnic
