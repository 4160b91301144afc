#include "core/base/result.h"

#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace gdakit {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Error(Code::invalid_argument, "half: 7 is odd; give an even number");
  return value / 2;
}

TEST(Result, HoldsAValue) {
  const Result<int> result = half(8);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, 4);
  EXPECT_EQ(result.value(), 4);
}

TEST(Result, HoldsAnError) {
  const Result<int> result = half(7);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::invalid_argument);
  EXPECT_EQ(result.error().message(), "half: 7 is odd; give an even number");
  EXPECT_EQ(result.error().system_code(), 0);
}

TEST(Result, GivesItsMembersAndItsValueAway) {
  Result<std::unique_ptr<std::string>> result(std::make_unique<std::string>("text"));
  ASSERT_TRUE(result);
  EXPECT_EQ((*result)->size(), 4u);
  EXPECT_EQ(result->get(), result.value().get());
  const std::unique_ptr<std::string> taken = *std::move(result);
  EXPECT_EQ(*taken, "text");
}

TEST(Result, OfNothingIsSuccessOrAnError) {
  const Result<> success;
  EXPECT_TRUE(success);
  const Result<> failure = Error(Code::timed_out, "no answer");
  ASSERT_FALSE(failure);
  EXPECT_EQ(failure.error().code(), Code::timed_out);
}

TEST(ResultDeathTest, WrongSideEndsTheProgram) {
  const Result<int> error = half(1);
  const Result<int> value = half(2);
  const Result<> success;
  EXPECT_DEATH(*error, "gdakit assertion failed");
  EXPECT_DEATH(static_cast<void>(value.error()), "gdakit assertion failed");
  EXPECT_DEATH(static_cast<void>(success.error()), "gdakit assertion failed");
}

TEST(Error, OfASystemCallNamesTheReason) {
  const Error error = Error::from_errno("open heap", ENOENT);
  EXPECT_EQ(error.code(), Code::system);
  EXPECT_EQ(error.system_code(), ENOENT);
  EXPECT_EQ(error.message(), "open heap: No such file or directory");
}

TEST(Error, WithinAContextKeepsItsCodes) {
  const Error error = Error::from_errno("bind", EADDRINUSE).within("bootstrap");
  EXPECT_EQ(error.message(), "bootstrap: bind: Address already in use");
  EXPECT_EQ(error.code(), Code::system);
  EXPECT_EQ(error.system_code(), EADDRINUSE);
}

TEST(CodeName, IsThatOfTheSource) {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(Code::internal); ++code) {
    names.insert(code_name(static_cast<Code>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Code::internal) + 1);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_STREQ(code_name(Code::permission_denied), "permission_denied");
}

}  // namespace
}  // namespace gdakit
