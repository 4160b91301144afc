#include "sim/idle.h"

#include <chrono>

#include <gtest/gtest.h>

namespace gdakit::sim {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

Clock::duration turn_time(IdleBackoff& idle) {
  const Clock::time_point start = Clock::now();
  idle.idle_turn(1);
  return Clock::now() - start;
}

TEST(IdleBackoff, SleepsOnlyAfterManyIdleTurns) {
  IdleBackoff idle;
  Clock::duration shortest = std::chrono::seconds(1);
  for (int i = 0; i != 200; ++i) shortest = std::min(shortest, turn_time(idle));
  EXPECT_LT(shortest, microseconds(15));
  for (int i = 0; i != 200; ++i) idle.idle_turn(1);
  for (int i = 0; i != 10; ++i) EXPECT_GE(turn_time(idle), microseconds(20));
  EXPECT_GE(turn_time(idle), microseconds(100));  // grown to its greatest
}

TEST(IdleBackoff, BeginsAnewAfterWork) {
  IdleBackoff idle;
  for (int i = 0; i != 400; ++i) idle.idle_turn(1);
  idle.reset();
  Clock::duration shortest = std::chrono::seconds(1);
  for (int i = 0; i != 100; ++i) shortest = std::min(shortest, turn_time(idle));
  EXPECT_LT(shortest, microseconds(15));
}

}  // namespace
}  // namespace gdakit::sim
