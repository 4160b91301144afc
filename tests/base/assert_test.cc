#include "core/base/assert.h"

#include <gtest/gtest.h>

namespace gdakit {
namespace {

TEST(Assert, LetsATrueConditionPass) {
  int evaluated = 0;
  GDAKIT_ASSERT(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(AssertDeathTest, NamesTheConditionAndItsPlace) {
  EXPECT_DEATH(GDAKIT_ASSERT(1 + 1 == 3),
               "assert_test\\.cc:[0-9]+: gdakit assertion failed: 1 \\+ 1 == 3");
}

constexpr int checked_half(int value) {
  GDAKIT_ASSERT(value % 2 == 0);
  return value / 2;
}

TEST(Assert, StandsInConstantExpressions) {
  static_assert(checked_half(8) == 4);
  EXPECT_EQ(checked_half(10), 5);
}

}  // namespace
}  // namespace gdakit
