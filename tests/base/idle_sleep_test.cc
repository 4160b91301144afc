#include "core/base/idle_sleep.h"

#include <gtest/gtest.h>

namespace gdakit {
namespace {

using namespace std::chrono_literals;

TEST(IdleSleep, IsAThousandthOfThePauseSoFar) {
  EXPECT_EQ(idle_sleep(5ms), 5us);
  EXPECT_EQ(idle_sleep(100ms), 100us);
}

TEST(IdleSleep, HasAnEndBelowAndAbove) {
  EXPECT_EQ(idle_sleep(0ns), 1us);
  EXPECT_EQ(idle_sleep(1ms), 1us);
  EXPECT_EQ(idle_sleep(1s), 1ms);
  EXPECT_EQ(idle_sleep(24h), 1ms);
}

}  // namespace
}  // namespace gdakit
