// A file that switches assertions off: the condition is compiled and never evaluated.
#define GDAKIT_NO_ASSERT
#include <gtest/gtest.h>

#include "core/base/assert.h"

namespace gdakit {
namespace {

TEST(AssertOff, EvaluatesNothing) {
  int evaluated = 0;
  GDAKIT_ASSERT(++evaluated == 7);
  EXPECT_EQ(evaluated, 0);
}

}  // namespace
}  // namespace gdakit
