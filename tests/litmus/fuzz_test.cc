// The weak memory against the oracle, on random programs.
//
// Every outcome of the machine must be allowed by the axioms, and it must show all of those that
// are allowed and keep its limits of load buffering (buffering.h). Larger programs are in
// difference_test.cc.
#include <iostream>

#include <gtest/gtest.h>

#include "core/base/annotate.h"
#include "sim/litmus/summary.h"
#include "tests/litmus/collection.h"
#include "tests/litmus/generator.h"
#include "tests/litmus/oracle.h"

namespace gdakit::sim::litmus {
namespace {

constexpr std::uint64_t kSeed = 2026;
// Sanitized code is many times slower; what sanitizers look for shows in any program.
constexpr std::uint64_t kPrograms = kAddressSanitizer || kThreadSanitizer ? 40 : 2000;
constexpr std::uint64_t kExecutions = 30'000;  // of each program; then as many at random
constexpr std::uint64_t kReachedPercent = 85;

Summary explore_bounded(const Program& program) {
  Summary summary = explore_all(program, {}, kExecutions);
  if (summary.complete) return summary;
  for (const auto& [outcome, count] : explore_random(program, {}, kSeed, kExecutions).outcomes) {
    summary.outcomes[outcome] += count;
  }
  return summary;
}

struct Totals {
  std::uint64_t allowed = 0, reached = 0;
  std::uint64_t buffered = 0, buffered_reached = 0;  // of those that need load buffering
  std::uint64_t explored = 0;                        // programs, completely
};

void compare(const Program& program, Totals& totals) {
  const Allowed allowed = allowed_outcomes(program);
  ASSERT_TRUE(allowed.complete) << program.text;
  const Summary summary = explore_bounded(program);
  std::vector<Outcome> unsound, missed;
  for (const auto& [outcome, count] : summary.outcomes) {
    if (allowed.outcomes.count(outcome) == 0) unsound.push_back(outcome);
  }
  for (const auto& [outcome, needs] : allowed.needs) {
    const bool reached = summary.outcomes.count(outcome) != 0;
    const bool buffered = needs.buffering;
    ++totals.allowed;
    totals.reached += reached ? 1 : 0;
    totals.buffered += buffered ? 1 : 0;
    totals.buffered_reached += buffered && reached ? 1 : 0;
    if (!reached && needs.within && summary.complete) missed.push_back(outcome);
  }
  totals.explored += summary.complete ? 1 : 0;
  EXPECT_TRUE(unsound.empty()) << "not allowed:\n" << report(program, unsound);
  EXPECT_TRUE(missed.empty()) << "not shown:\n" << report(program, missed);
}

TEST(LitmusFuzz, MachineShowsWhatTheAxiomsAllowAndNothingElse) {
  Totals totals;
  for (std::uint64_t i = 0; i < kPrograms && !testing::Test::HasFailure(); ++i) {
    compare(random_program(kSeed, i), totals);
  }
  std::cout << kPrograms << " programs, " << totals.explored << " of them explored completely; "
            << totals.reached << " of " << totals.allowed << " allowed outcomes reached ("
            << totals.reached * 100 / totals.allowed << " %); of those that need load buffering "
            << totals.buffered_reached << " of " << totals.buffered << '\n';
  EXPECT_GE(totals.reached * 100, totals.allowed * kReachedPercent);
  EXPECT_GE(totals.explored * 100, kPrograms * 90);
}

TEST(LitmusGenerator, GivesTheSameProgramsForTheSameSeed) {
  EXPECT_EQ(random_program(5, 9).text, random_program(5, 9).text);
  EXPECT_NE(random_program(5, 9).text, random_program(5, 10).text);
  EXPECT_NE(random_program(5, 9).text, random_program(6, 9).text);
}

TEST(LitmusGenerator, GivesTheSizeThatIsAskedFor) {
  const Program program = random_program(5, 9, {.threads = 4, .operations = 3});
  ASSERT_EQ(program.threads.size(), 4u);
  for (const Thread& thread : program.threads) EXPECT_EQ(thread.code.size(), 3u);
  EXPECT_EQ(random_program(5, 9, {4, 3}).text, program.text);
  EXPECT_NE(random_program(5, 10, {4, 3}).text, program.text);
}

}  // namespace
}  // namespace gdakit::sim::litmus
