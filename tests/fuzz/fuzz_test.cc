// Every target's short run. A target that finds nothing must be able to: each has its canary, an
// input that a broken parser gets wrong, in the tests of that parser.
#include <gtest/gtest.h>

#include "tests/fuzz/short_run.h"

namespace gdakit::fuzz {
namespace {

class Fuzz : public testing::TestWithParam<Target> {};

TEST_P(Fuzz, FindsNothingWrong) { EXPECT_EQ(run_short(GetParam(), GetParam().rounds), ""); }

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& target) { return target.param.name; });

// A parser that takes a length for good.
std::string believe_the_length(Input input) {
  const bool believes = input.size() > 1 && input[0] > input.size();
  return believes ? "it reads behind its end" : "";
}

TEST(FuzzRun, AParserThatBelievesALengthIsFoundOut) {
  const Target broken{"broken", believe_the_length, [] { return std::vector<Seed>{{2, 7, 9}}; }, 1};
  const std::string found = run_short(broken, 1000);
  EXPECT_NE(found.find("it reads behind its end; input "), std::string::npos) << found;
}

TEST(FuzzRun, TargetsAreFoundByName) {
  ASSERT_NE(find_target("options"), nullptr);
  EXPECT_EQ(find_target("no_such_target"), nullptr);
}

}  // namespace
}  // namespace gdakit::fuzz
