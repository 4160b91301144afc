// The weak memory against the oracle, on programs larger than those of fuzz_test.cc: a sample in
// every run of the tests, and as many as one likes by hand:
//
//   GDAKIT_TEST_SEEDS=7000 litmus_test --gtest_filter='Sizes/LitmusDifference.*'
//
// The machine must show no outcome that the axioms forbid. What they allow and the machine has not
// shown although it has explored everything is counted by cause: which limits of load buffering
// (buffering.h) would have to be lifted. What keeps all limits must be shown, and what breaks some
// must not be: so the limits are exactly what they are said to be. Programs that have too many
// executions are counted apart, with what they have shown so far; so are those that are too large
// for the oracle, which may make one in some thousands of 4 x 3.
//
// Accesses of mixed sizes are left out: a litmus test has no sizes, and where such accesses race
// PTX gives them no meaning, so that there is nothing exact to compare with.
#include <array>
#include <iomanip>
#include <iostream>

#include <gtest/gtest.h>

#include "core/base/annotate.h"
#include "sim/litmus/summary.h"
#include "tests/litmus/buffering.h"
#include "tests/litmus/collection.h"
#include "tests/litmus/generator.h"
#include "tests/litmus/oracle.h"
#include "tests/support/settings.h"

namespace gdakit::sim::litmus {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::uint64_t kExecutions = 100'000;  // of each program
constexpr std::uint64_t kFullyPercent = 70;     // of the programs, at least

// Sanitized code is many times slower; what sanitizers look for shows in any program.
constexpr std::uint64_t kShare = kAddressSanitizer || kThreadSanitizer ? 10 : 1;

struct Size {
  ProgramSize program;
  std::uint64_t sample;  // programs of a usual run
};
std::string name_of(const Size& size) {
  return std::to_string(size.program.threads) + "x" + std::to_string(size.program.operations);
}
void PrintTo(const Size& size, std::ostream* out) { *out << name_of(size); }

struct Totals {
  std::uint64_t programs = 0, fully = 0;
  std::uint64_t beyond_oracle = 0;  // programs that it gave up, so that nothing is known of them
  std::uint64_t allowed = 0, reached = 0;                // outcomes of those explored fully
  std::uint64_t others_allowed = 0, others_reached = 0;  // of the other programs
  std::array<std::uint64_t, kCauses.size()> missed{};
  std::uint64_t without_cause = 0, beyond_limits = 0, unsound = 0;
};

// What must not be.
struct Wrong {
  std::vector<Outcome> unsound, without_cause, beyond_limits;
};

Wrong count(const Summary& summary, const Allowed& allowed, Totals& totals) {
  Wrong wrong;
  for (const auto& [outcome, times] : summary.outcomes) {
    if (allowed.outcomes.count(outcome) == 0) wrong.unsound.push_back(outcome);
  }
  for (const auto& [outcome, needs] : allowed.needs) {
    const bool reached = summary.outcomes.count(outcome) != 0;
    ++(summary.complete ? totals.allowed : totals.others_allowed);
    if (reached) ++(summary.complete ? totals.reached : totals.others_reached);
    if (reached && !needs.within) wrong.beyond_limits.push_back(outcome);
    if (reached || !summary.complete) continue;
    if (needs.within) {
      wrong.without_cause.push_back(outcome);
    } else {
      ++totals.missed[needs.cause];
    }
  }
  ++totals.programs;
  totals.fully += summary.complete ? 1 : 0;
  totals.unsound += wrong.unsound.size();
  totals.without_cause += wrong.without_cause.size();
  totals.beyond_limits += wrong.beyond_limits.size();
  return wrong;
}

void print(const Size& size, const Totals& totals) {
  std::cout << "threads x operations: " << name_of(size) << '\n' << std::fixed;
  const auto row = [](const std::string& what, std::uint64_t number, std::uint64_t of = 0) {
    std::cout << "  " << std::left << std::setw(26) << what << std::right << std::setw(9) << number;
    if (of != 0) {
      const double percent = 100.0 * static_cast<double>(number) / static_cast<double>(of);
      std::cout << std::setw(8) << std::setprecision(2) << percent << " %";
    }
    std::cout << '\n';
  };
  row("programs", totals.programs);
  row("explored fully", totals.fully, totals.programs);
  row("too large for the oracle", totals.beyond_oracle, totals.programs);
  row("allowed: explored fully", totals.allowed);
  row("reached", totals.reached, totals.allowed);
  for (std::size_t cause = 0; cause < kCauses.size(); ++cause) {
    row(std::string("missed: ") + kCauses[cause].name, totals.missed[cause], totals.allowed);
  }
  row("missed: no cause", totals.without_cause, totals.allowed);
  row("allowed: the others", totals.others_allowed);
  row("reached so far", totals.others_reached, totals.others_allowed);
  row("shown beyond limits", totals.beyond_limits);
  row("unsound", totals.unsound);
}

class LitmusDifference : public testing::TestWithParam<Size> {};

TEST_P(LitmusDifference, IsWhatTheLimitsOfLoadBufferingSay) {
  const Size& size = GetParam();
  const auto [first, programs] = gdakit::test::seeds(size.sample / kShare);
  Totals totals;
  for (std::uint64_t i = first; i < first + programs; ++i) {
    const Program program = random_program(kSeed, i, size.program);
    const Allowed allowed = allowed_outcomes(program);
    if (!allowed.complete) {
      ++totals.programs;
      ++totals.beyond_oracle;
      continue;
    }
    const Wrong wrong = count(explore_all(program, {}, kExecutions), allowed, totals);
    const std::string replay = "replay: GDAKIT_TEST_SEED=" + std::to_string(i) +
                               " litmus_test --gtest_filter=Sizes/LitmusDifference.*/" +
                               name_of(size);
    EXPECT_TRUE(wrong.unsound.empty()) << "not allowed:\n"
                                       << report(program, wrong.unsound) << replay;
    EXPECT_TRUE(wrong.without_cause.empty()) << "not shown:\n"
                                             << report(program, wrong.without_cause) << replay;
    EXPECT_TRUE(wrong.beyond_limits.empty()) << "shown beyond the limits:\n"
                                             << report(program, wrong.beyond_limits) << replay;
  }
  print(size, totals);
  EXPECT_LE(totals.beyond_oracle * 100, totals.programs);
  const bool enough = programs >= size.sample;
  EXPECT_TRUE(!enough || totals.fully * 100 >= programs * kFullyPercent) << totals.fully;
}

INSTANTIATE_TEST_SUITE_P(Sizes, LitmusDifference,
                         testing::Values(Size{{2, 5}, 400}, Size{{3, 4}, 40}, Size{{4, 3}, 20}),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace gdakit::sim::litmus
