#include "sim/stack_pool.h"

#include <cstring>
#include <set>
#include <vector>

#include <gmock/gmock.h>

namespace gdakit::sim {
namespace {

using testing::HasSubstr;

TEST(StackPool, GivesDistinctStacksOfTheSizeAskedFor) {
  StackPool pool({.bytes = 20000});
  std::set<std::byte*> tops;
  std::vector<Stack> stacks;
  for (int i = 0; i != 200; ++i) {
    const Result<Stack> stack = pool.take();
    ASSERT_TRUE(stack) << stack.error().message();
    EXPECT_EQ(stack->bytes, 20480u);  // whole pages
    std::memset(stack->bottom, i, stack->bytes);
    EXPECT_TRUE(tops.insert(stack->top()).second);
    stacks.push_back(*stack);
  }
  for (int i = 0; i != 200; ++i) {
    EXPECT_EQ(stacks[i].bottom[0], static_cast<std::byte>(i));
    EXPECT_EQ(stacks[i].top()[-1], static_cast<std::byte>(i));
    pool.give(stacks[i]);
  }
}

TEST(StackPool, GivesTheStackThatCameBackLast) {
  StackPool pool({});
  const Stack first = *pool.take();
  const Stack second = *pool.take();
  pool.give(second);
  pool.give(first);
  EXPECT_EQ(pool.take()->bottom, first.bottom);
  EXPECT_EQ(pool.take()->bottom, second.bottom);
  pool.give(first);
  pool.give(second);
}

TEST(StackPool, SaysWhatToDoWhenThereIsNoRoom) {
  StackPool pool({.bytes = std::size_t{1} << 50, .option = "Small::stack"});
  const Result<Stack> stack = pool.take();
  ASSERT_FALSE(stack);
  EXPECT_EQ(stack.error().code(), Code::exhausted);
  EXPECT_THAT(stack.error().message(), HasSubstr("launch fewer threads, ask for smaller stacks "
                                                 "(Small::stack), "));
}

// Takes seven stacks, which fill slabs of one, two and four, and writes below the highest of the
// four.
void write_below_a_stack(StackOptions options) {
  StackPool pool(options);
  std::vector<Stack> stacks;
  for (int i = 0; i != 7; ++i) stacks.push_back(*pool.take());
  std::memset(stacks[3].bottom - 1, 1, 1);
  for (const Stack& stack : stacks) pool.give(stack);
}

TEST(StackPoolDeathTest, AGuardPageLiesBelowEachStack) {
  EXPECT_DEATH(write_below_a_stack({}), "");
  write_below_a_stack({.guards = false});  // the neighbour's
}

}  // namespace
}  // namespace gdakit::sim
