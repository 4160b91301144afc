// The oracle against known verdicts, and against rules looked at one by one.
#include "tests/litmus/oracle.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "sim/litmus/parser.h"
#include "sim/litmus/summary.h"
#include "tests/litmus/buffering.h"
#include "tests/litmus/collection.h"

namespace gdakit::sim::litmus {
namespace {

class Oracle : public testing::TestWithParam<Entry> {};

TEST_P(Oracle, AgreesWithTheVerdict) {
  const Program program = load(GetParam());
  const Allowed allowed = allowed_outcomes(program);
  EXPECT_TRUE(allowed.complete);
  std::vector<Outcome> found;
  for (const Outcome& outcome : allowed.outcomes) {
    if (is_witness(program, outcome)) found.push_back(outcome);
  }
  EXPECT_EQ(found.empty(), GetParam().forbidden) << report(program, found);
}

TEST_P(Oracle, KnowsWhatNeedsLoadBuffering) {
  const Program program = load(GetParam());
  if (GetParam().forbidden) return;
  const Allowed allowed = allowed_outcomes(program);
  const bool plain =
      std::any_of(allowed.without_buffering.begin(), allowed.without_buffering.end(),
                  [&](const Outcome& outcome) { return is_witness(program, outcome); });
  EXPECT_EQ(plain, GetParam().is_shown() && GetParam().use != "should-exhibit-LB-only");
}

TEST_P(Oracle, KnowsWhyAWitnessIsBeyondTheMachine) {
  const Program program = load(GetParam());
  if (GetParam().forbidden) return;
  bool within = false;
  std::set<std::string> causes;
  for (const auto& [outcome, needs] : allowed_outcomes(program).needs) {
    if (!is_witness(program, outcome)) continue;
    within = within || needs.within;
    causes.insert(kCauses[needs.cause].name);
  }
  EXPECT_EQ(within, GetParam().is_shown());
  EXPECT_EQ(within ? std::set<std::string>{""} : causes,
            std::set<std::string>{GetParam().missed_by});
}

INSTANTIATE_TEST_SUITE_P(Litmus, Oracle, testing::ValuesIn(collection()),
                         [](const auto& test) { return test.param.title; });

Program parsed(const std::string& text) {
  Result<Program> program = parse("PTX t { } " + text, "t");
  EXPECT_TRUE(program) << (program ? "" : program.error().message());
  return std::move(*program);
}

using Outcomes = std::set<Outcome>;

TEST(OracleRules, FinalValueIsThatOfAnyLastWrite) {
  // Racing weak stores are not ordered: either can be the last, whoever reads what.
  const Program racing =
      parsed("P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ; st.weak x, 1 | st.weak x, 2 ; exists (x == 1)");
  EXPECT_EQ(allowed_outcomes(racing).outcomes, (Outcomes{{1}, {2}}));
  const Program alone = parsed("P0@cta 0,gpu 0 ; st.weak x, 1 ; st.weak x, 2 ; exists (x == 1)");
  EXPECT_EQ(allowed_outcomes(alone).outcomes, (Outcomes{{2}}));
}

TEST(OracleRules, UpdatesOfTooNarrowScopesLoseEachOther) {
  const auto add = [](const std::string& scope) {
    return parsed("P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ; red.relaxed." + scope +
                  ".add x, 1 | red.relaxed." + scope + ".add x, 1 ; exists (x == 1)");
  };
  EXPECT_EQ(allowed_outcomes(add("cta")).outcomes, (Outcomes{{1}, {2}}));
  EXPECT_EQ(allowed_outcomes(add("gpu")).outcomes, (Outcomes{{2}}));
}

TEST(OracleRules, RedIsNoAcquire) {
  const auto message = [](const std::string& read) {
    return parsed(
        "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ; st.weak x, 1 | " + read +
        " ; st.release.gpu y, 1 | fence.acq_rel.gpu ; | ld.weak r2, x ; exists (y == 2 /\\ P1:r2 "
        "== 0)");
  };
  const auto shows_old = [](const Program& program) {
    const Allowed allowed = allowed_outcomes(program);
    return allowed.outcomes.count({2, 0}) != 0 || allowed.outcomes.count({1, 0}) != 0;
  };
  // y == 2 after the store 1: the update came second and read the release.
  EXPECT_EQ(allowed_outcomes(message("red.relaxed.gpu.add y, 1")).outcomes.count({2, 0}), 1u);
  EXPECT_EQ(allowed_outcomes(message("atom.relaxed.gpu.add r1, y, 1")).outcomes.count({2, 0}), 0u);
  EXPECT_TRUE(shows_old(message("ld.weak r1, y")));
}

TEST(OracleRules, WaitsAtBarriersCanBeForEver) {
  const Program crossed = parsed(
      "P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ; bar.cta.sync 0 | bar.cta.sync 1 ; bar.cta.sync 1 | "
      "bar.cta.sync 0 ; exists (x == 0)");
  EXPECT_TRUE(allowed_outcomes(crossed).outcomes.empty());
  const Program arriving = parsed(
      "P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ; bar.cta.arrive 0 | bar.cta.arrive 1 ; bar.cta.sync 1 | "
      "bar.cta.sync 0 ; exists (x == 0)");
  EXPECT_EQ(allowed_outcomes(arriving).outcomes.size(), 1u);
  const Program skipped = parsed(
      "P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ; bar.cta.sync 0 | beq r0, 0, LC0 ; | bar.cta.sync 0 ; | "
      "LC0: ; exists (x == 0)");
  EXPECT_TRUE(allowed_outcomes(skipped).outcomes.empty());
}

TEST(OracleRules, LoopsRunUpToTheirBound) {
  const Program program =
      parsed("P0@cta 0,gpu 0 ; LC0: add r1, r1, 1 ; blt r1, 3, LC0 ; exists (P0:r1 == 3)");
  EXPECT_TRUE(allowed_outcomes(program, {.bound = 2}).outcomes.empty());
  EXPECT_EQ(allowed_outcomes(program, {.bound = 3}).outcomes, (Outcomes{{3}}));
}

TEST(OracleRules, LimitsAreToldOf) {
  const Program program = parsed(
      "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ; st.weak x, 1 | ld.weak r1, x ; exists (P1:r1 == 1)");
  OracleLimits limits;
  limits.candidates = 1;
  EXPECT_FALSE(allowed_outcomes(program, limits).complete);
  limits.candidates = 3;
  EXPECT_TRUE(allowed_outcomes(program, limits).complete);
}

}  // namespace
}  // namespace gdakit::sim::litmus
