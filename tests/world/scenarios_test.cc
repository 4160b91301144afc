// Every scenario of the shipped protocol, on both kinds of GPU: no schedule and no stale value that
// is tried breaks it.
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "core/base/annotate.h"
#include "sim/explore/explorer.h"
#include "sim/explore/scenario_list.h"

namespace gdakit::sim {
namespace {

// Sanitized code is many times slower; what they look for shows in any execution.
constexpr std::uint64_t kExecutions = kAddressSanitizer || kThreadSanitizer ? 100 : 250;

struct Case {
  const ScenarioEntry* scenario;
  GpuModel gpu;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const ScenarioEntry& scenario : scenario_list()) {
    cases.push_back({&scenario, GpuModel::hopper});
    cases.push_back({&scenario, GpuModel::ampere});
  }
  return cases;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.scenario->name;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name + (info.param.gpu == GpuModel::hopper ? "_hopper" : "_ampere");
}

class Scenario : public testing::TestWithParam<Case> {};

TEST_P(Scenario, HoldsInEveryExecution) {
  const auto subject = GetParam().scenario->make({GetParam().gpu});
  ExploreOptions options;
  options.schedules = kExecutions;
  const Exploration found = explore(*subject, options);
  EXPECT_TRUE(found.passed()) << found.report();
  EXPECT_EQ(found.executions, kExecutions);
}

INSTANTIATE_TEST_SUITE_P(All, Scenario, testing::ValuesIn(all_cases()), name_of);

TEST(ScenarioList, HasNamesOfItsOwn) {
  std::vector<std::string> names;
  for (const ScenarioEntry& scenario : scenario_list()) {
    names.push_back(scenario.name);
    EXPECT_EQ(scenario.make({})->name(), scenario.name);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

// The same seed is the same run: in another world, and whatever ran before.
TEST(ScenarioList, IsDeterministicOverSeeds) {
  for (const char* const name : {"two-blocks", "put-signal", "fetch-slots"}) {
    const ScenarioEntry* entry = nullptr;
    for (const ScenarioEntry& one : scenario_list()) {
      if (std::string(one.name) == name) entry = &one;
    }
    ASSERT_NE(entry, nullptr);
    const auto first = entry->make({});
    const auto second = entry->make({});
    ExploreOptions options;
    options.schedules = 2;
    explore(*second, options);
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      options.seed = seed;
      const Exploration a = explore(*first, options);
      const Exploration b = explore(*second, options);
      ASSERT_EQ(a.accesses, b.accesses) << name << ", seed " << seed;
      ASSERT_EQ(a.outcomes, b.outcomes) << name << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace gdakit::sim
