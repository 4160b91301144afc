#include "core/base/handle.h"

#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace gdakit {
namespace {

std::vector<int>& closed() {
  static std::vector<int> values;
  return values;
}

struct CountedTraits {
  using Value = int;
  static Value none() { return -1; }
  static void close(Value value) { closed().push_back(value); }
};
using Handle = UniqueHandle<CountedTraits>;

static_assert(!std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle>);

class UniqueHandleTest : public testing::Test {
 protected:
  UniqueHandleTest() { closed().clear(); }
};

TEST_F(UniqueHandleTest, ClosesOnceAtItsEnd) {
  {
    const Handle handle(7);
    EXPECT_TRUE(handle);
    EXPECT_EQ(handle.get(), 7);
    EXPECT_TRUE(closed().empty());
  }
  EXPECT_EQ(closed(), std::vector{7});
}

TEST_F(UniqueHandleTest, OfNothingClosesNothing) {
  {
    const Handle handle;
    EXPECT_FALSE(handle);
  }
  EXPECT_TRUE(closed().empty());
}

TEST_F(UniqueHandleTest, MovesItsValueAway) {
  Handle first(1);
  Handle second(std::move(first));
  EXPECT_EQ(second.get(), 1);
  EXPECT_TRUE(closed().empty());

  Handle third(3);
  third = std::move(second);
  EXPECT_EQ(third.get(), 1);
  EXPECT_EQ(closed(), std::vector{3});
}

TEST_F(UniqueHandleTest, SurvivesAMoveToItself) {
  Handle handle(4);
  Handle& same = handle;
  handle = std::move(same);
  EXPECT_EQ(handle.get(), 4);
  EXPECT_TRUE(closed().empty());
}

TEST_F(UniqueHandleTest, ReleaseGivesTheValueUp) {
  Handle handle(5);
  EXPECT_EQ(handle.release(), 5);
  EXPECT_FALSE(handle);
  handle.reset();
  EXPECT_TRUE(closed().empty());
}

TEST_F(UniqueHandleTest, ResetClosesTheOldValue) {
  Handle handle(5);
  handle.reset(6);
  EXPECT_EQ(closed(), std::vector{5});
  handle.reset();
  EXPECT_EQ(closed(), (std::vector{5, 6}));
  EXPECT_FALSE(handle);
}

}  // namespace
}  // namespace gdakit
