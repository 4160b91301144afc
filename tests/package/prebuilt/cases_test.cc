// What a GoogleTest program may do to those who run it.
#include <chrono>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

int number_here();

namespace {

int tests_here = 0;  // in this process

bool is_direct() { return std::system("test \"$GDAKIT_TRANSPORT\" = direct") == 0; }

class Cases : public testing::Test {
 protected:
  Cases() { ++tests_here; }
};

TEST_F(Cases, FindsItsLibraries) { EXPECT_EQ(number_here(), 42); }
TEST_F(Cases, FindsItsPrograms) {
  EXPECT_EQ(std::system(TELLER " says"), 256) << "the shell has not run " TELLER;
}
TEST_F(Cases, SharesTheProcess) { EXPECT_EQ(tests_here, 3); }
TEST_F(Cases, Fails) { FAIL() << "as it shall"; }
TEST_F(Cases, GoesOnInAnotherProcess) { EXPECT_EQ(tests_here, 1); }
TEST_F(Cases, Crashes) { std::abort(); }
TEST_F(Cases, GoesOnAfterACrash) { EXPECT_EQ(tests_here, 1); }
TEST_F(Cases, IsSkipped) { GTEST_SKIP() << "because of the weather"; }
TEST_F(Cases, Hangs) {
  if (is_direct()) GTEST_SKIP() << "once is enough";
  std::this_thread::sleep_for(std::chrono::seconds(1000));
}
TEST_F(Cases, GoesOnAfterAHang) { EXPECT_EQ(tests_here, is_direct() ? 4 : 1); }
TEST_F(Cases, DISABLED_IsDisabled) { FAIL(); }

template <class T>
class Typed : public testing::Test {};
using Types = testing::Types<int, double>;
TYPED_TEST_SUITE(Typed, Types);
TYPED_TEST(Typed, HasAType) { EXPECT_GE(sizeof(TypeParam), 4u); }

class Given : public testing::TestWithParam<int> {};
TEST_P(Given, HasAValue) { EXPECT_GT(GetParam(), 5); }
INSTANTIATE_TEST_SUITE_P(Some, Given, testing::Values(6, 7));

TEST(Environment, IsTheTests) { EXPECT_TRUE(is_direct()); }

}  // namespace
