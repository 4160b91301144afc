// The weak memory against the litmus tests of which the verdict is known.
#include <iostream>

#include <gtest/gtest.h>

#include "core/base/annotate.h"
#include "sim/litmus/parser.h"
#include "sim/litmus/summary.h"
#include "tests/litmus/collection.h"
#include "tests/litmus/oracle.h"

namespace gdakit::sim::litmus {
namespace {

// Sanitized code is many times slower; what sanitizers look for shows in any run.
constexpr std::uint64_t kRandomRuns = kAddressSanitizer || kThreadSanitizer ? 1000 : 100'000;
constexpr std::uint64_t kSeed = 1;

std::vector<Outcome> witnesses(const Program& program, const Summary& summary) {
  std::vector<Outcome> found;
  for (const auto& [outcome, count] : summary.outcomes) {
    if (is_witness(program, outcome)) found.push_back(outcome);
  }
  return found;
}

class Machine : public testing::TestWithParam<Entry> {};

TEST_P(Machine, ShowsWhatIsAllowedAndNeverWhatIsForbidden) {
  const Program program = load(GetParam());
  const Summary summary = explore_all(program, {}, 0);
  EXPECT_TRUE(summary.complete);
  // A witness that has been beyond the machine and is shown now: its row of verdicts.csv changes,
  // and so do the limits in sim/weak/memory.h.
  EXPECT_EQ(summary.witnesses != 0, GetParam().is_shown())
      << report(program, witnesses(program, summary));
}

TEST_P(Machine, HasTheOraclesOutcomesWithinItsLimits) {
  const Program program = load(GetParam());
  const Summary summary = explore_all(program, {}, 0);
  const Allowed allowed = allowed_outcomes(program);
  ASSERT_TRUE(allowed.complete);
  std::vector<Outcome> unsound, missed;
  for (const auto& [outcome, count] : summary.outcomes) {
    if (allowed.outcomes.count(outcome) == 0) unsound.push_back(outcome);
  }
  for (const auto& [outcome, needs] : allowed.needs) {
    if (needs.within && summary.outcomes.count(outcome) == 0) missed.push_back(outcome);
  }
  EXPECT_TRUE(unsound.empty()) << "not allowed:\n" << report(program, unsound);
  EXPECT_TRUE(missed.empty()) << "not shown:\n" << report(program, missed);
}

TEST_P(Machine, AtRandomShowsWhatIsAllowedAndNeverWhatIsForbidden) {
  const Program program = load(GetParam());
  const Summary summary = explore_random(program, {}, kSeed, kRandomRuns);
  EXPECT_EQ(summary.executions, kRandomRuns);
  EXPECT_EQ(summary.witnesses != 0, GetParam().is_shown())
      << report(program, witnesses(program, summary));
  if (!GetParam().is_shown()) return;
  std::cout << GetParam().title << ": " << summary.witnesses << " of " << summary.executions
            << " random executions\n";
}

INSTANTIATE_TEST_SUITE_P(Litmus, Machine, testing::ValuesIn(collection()),
                         [](const auto& test) { return test.param.title; });

// The same seed shows the same, execution by execution.
TEST(RandomLitmus, DependsOnItsSeedAlone) {
  const Result<Program> program = parse_file("tests/litmus/ptx/Coherence.litmus");
  ASSERT_TRUE(program);
  const Summary one = explore_random(*program, {}, 7, 2000);
  const Summary same = explore_random(*program, {}, 7, 2000);
  const Summary other = explore_random(*program, {}, 8, 2000);
  EXPECT_EQ(one.outcomes, same.outcomes);
  EXPECT_NE(one.outcomes, other.outcomes);
}

// What the two sets would have to do with each other if the machine were wrong: the tests above can
// fail.
TEST(OracleAndMachine, TellAStrongerProgramApart) {
  const auto program = [](const std::string& store) {
    return parse(
        "PTX MP { }\n"
        " P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n"
        " st.weak x, 1 | ld.acquire.gpu r1, y ;\n" +
            store + " y, 1 | ld.weak r2, x ;\nexists (P1:r1 == 1 /\\ P1:r2 == 0)",
        "MP");
  };
  const Result<Program> weak = program("st.relaxed.gpu");
  const Result<Program> strong = program("st.release.gpu");
  ASSERT_TRUE(weak && strong);
  const Outcome stale = {1, 0};
  EXPECT_EQ(explore_all(*weak, {}, 0).outcomes.count(stale), 1u);
  EXPECT_EQ(allowed_outcomes(*weak).outcomes.count(stale), 1u);
  EXPECT_EQ(explore_all(*strong, {}, 0).outcomes.count(stale), 0u);
  EXPECT_EQ(allowed_outcomes(*strong).outcomes.count(stale), 0u);
}

}  // namespace
}  // namespace gdakit::sim::litmus
