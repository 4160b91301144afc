#include "sim/explore/exhaustive.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/explore/toys.h"

namespace gdakit::sim::test {
namespace {

using Kind = Op::Kind;

// The execution up to swaps of independent neighbours (Foata's normal form): each step goes into
// the layer behind the last step that it depends on.
std::vector<std::vector<std::uint32_t>> normal_form(const Toy& toy) {
  std::vector<std::vector<std::uint32_t>> layers;
  std::vector<std::size_t> layer_of(toy.steps.size());
  for (std::size_t i = 0; i < toy.steps.size(); ++i) {
    std::size_t layer = 0;
    for (std::size_t before = 0; before < i; ++before) {
      const bool depends = toy.steps[i].first == toy.steps[before].first ||
                           !independent(toy.steps[i].second, toy.steps[before].second);
      if (depends) layer = std::max(layer, layer_of[before] + 1);
    }
    layer_of[i] = layer;
    if (layer == layers.size()) layers.emplace_back();
    layers[layer].push_back(toy.steps[i].first);
    std::sort(layers[layer].begin(), layers[layer].end());
  }
  return layers;
}

struct Seen {
  std::set<std::uint64_t> states;
  // By normal form and what was read: how many executions.
  std::map<std::pair<std::vector<std::vector<std::uint32_t>>, std::uint64_t>, int> classes;
  std::uint64_t executions = 0;
  std::uint64_t full = 0;  // not cut short
  std::uint64_t hangs = 0;
  bool complete = false;
};

Seen explore_all(Toy& toy, const ExhaustiveOptions& options) {
  ExhaustiveStrategy strategy(options);
  Chooser chooser(strategy);
  Seen seen;
  while (chooser.begin()) {
    const RunResult result = toy.run(chooser, nullptr);
    chooser.end();
    ++seen.executions;
    if (result.redundant) continue;
    ++seen.full;
    seen.hangs += result.finding == FindingKind::hang;
    seen.states.insert(result.outcome);
    ++seen.classes[{normal_form(toy), result.outcome}];
  }
  seen.complete = strategy.complete();
  return seen;
}

ExhaustiveOptions plain() {
  ExhaustiveOptions options;
  options.sleep_sets = false;
  return options;
}

std::vector<Op> locals(std::size_t count) { return std::vector<Op>(count, {Kind::local}); }

TEST(Exhaustive, WithoutSleepSetsItRunsEveryInterleavingOnce) {
  Toy two("two", 1, {locals(3), locals(3)});
  EXPECT_EQ(explore_all(two, plain()).executions, 20u);  // 6! / (3! 3!)
  Toy three("three", 1, {locals(2), locals(2), locals(2)});
  EXPECT_EQ(explore_all(three, plain()).executions, 90u);  // 6! / (2! 2! 2!)
  Toy one("one", 1, {locals(4)});
  EXPECT_EQ(explore_all(one, plain()).executions, 1u);
}

TEST(Exhaustive, WithSleepSetsIndependentStepsRunInOneOrder) {
  Toy locals_only("locals", 1, {locals(3), locals(3), locals(3)});
  const Seen seen = explore_all(locals_only, {});
  EXPECT_EQ(seen.full, 1u);
  EXPECT_TRUE(seen.complete);
  Toy readers("readers", 1, {{{Kind::load, 0}}, {{Kind::load, 0}}, {{Kind::load, 0}}});
  EXPECT_EQ(explore_all(readers, {}).full, 1u);
  Toy writers("writers", 1, {{{Kind::store, 0}}, {{Kind::store, 0}}, {{Kind::store, 0}}});
  EXPECT_EQ(explore_all(writers, {}).full, 6u);
}

TEST(Exhaustive, OtherChoicesBranchBelowTheirStep) {
  // The load comes before, between or after the two stores and sees up to 1, 2 or 3 values.
  Toy toy("stale", 1, {{{Kind::store, 0, 1}, {Kind::store, 0, 2}}, {{Kind::load, 0, 3}}});
  EXPECT_EQ(explore_all(toy, plain()).executions, 6u);
  const Seen seen = explore_all(toy, {});
  EXPECT_EQ(seen.full, 6u);
  EXPECT_EQ(seen.states.size(), 3u);
}

// Loads see up to `deepest` values.
Toy random_toy(std::uint64_t number, std::uint32_t deepest) {
  Generator random(number, 11);
  static constexpr Kind kKinds[] = {Kind::local, Kind::load, Kind::load, Kind::load, Kind::store,
                                    Kind::store, Kind::inc,  Kind::add,  Kind::sc,   Kind::await};
  const std::uint32_t places = 1 + random.below(3);
  Toy::Program program(2 + random.below(2));
  for (std::vector<Op>& body : program) {
    const std::uint32_t length = 1 + random.below(program.size() == 2 ? 5 : 3);
    for (std::uint32_t i = 0; i < length; ++i) {
      body.push_back({random.one_of(kKinds), random.below(places), 1 + random.below(deepest)});
    }
  }
  return Toy("random", places, program);
}

// Hangs are final states too: awaiting is how a step makes another one possible.
TEST(Exhaustive, SleepSetsKeepEveryClassOfExecutionsExactlyOnce) {
  std::uint64_t all = 0;
  std::uint64_t full = 0;
  std::uint64_t hangs = 0;
  for (std::uint64_t number = 0; number < 400; ++number) {
    Toy toy = random_toy(number, 2);
    const Seen expected = explore_all(toy, plain());
    const Seen seen = explore_all(toy, {});
    ASSERT_TRUE(expected.complete && seen.complete) << number;
    ASSERT_EQ(seen.states, expected.states) << number;
    ASSERT_EQ(seen.classes.size(), expected.classes.size()) << number;
    for (const auto& [form, count] : seen.classes) {
      ASSERT_EQ(expected.classes.count(form), 1u) << number;
    }
    ASSERT_LE(seen.executions, expected.executions) << number;
    all += expected.executions;
    full += seen.full;
    hangs += expected.hangs > 0;
  }
  EXPECT_LT(full * 4, all) << "sleep sets should save most executions";
  EXPECT_GT(hangs, 20u) << "programs that wait should be among them";
}

// Where steps have no choices inside, a class is one execution.
TEST(Exhaustive, SleepSetsRunNoClassTwice) {
  for (std::uint64_t number = 0; number < 400; ++number) {
    Toy toy = random_toy(number, 1);
    const Seen seen = explore_all(toy, {});
    EXPECT_EQ(seen.full, seen.classes.size()) << number;
  }
}

TEST(Exhaustive, AgentsThatPollSeeAllThatWaitingAgentsSee) {
  for (const Kind wait : {Kind::await, Kind::poll}) {
    Toy toy("wait", 2,
            {{{Kind::store, 0, 1}, {Kind::store, 1, 2}, {Kind::store, 0, 3}},
             {{wait, 0}, {Kind::load, 1}},
             {{wait, 1}, {Kind::load, 0}}});
    const Seen expected = explore_all(toy, plain());
    const Seen seen = explore_all(toy, {});
    EXPECT_TRUE(seen.complete);
    EXPECT_EQ(seen.hangs, 0u);
    EXPECT_EQ(seen.states, expected.states);
    EXPECT_EQ(seen.states.size(), 6u) << static_cast<int>(wait);
    EXPECT_LT(seen.executions, expected.executions);
  }
}

TEST(Exhaustive, AHangEndsInsteadOfGoingOnForEver) {
  Toy toy("hang", 1, {{{Kind::await, 0}}, {{Kind::local}}});
  const Seen seen = explore_all(toy, {});
  EXPECT_TRUE(seen.complete);
  EXPECT_EQ(seen.hangs, seen.full);
}

TEST(Exhaustive, ABoundOfPreemptionsLeavesOutWhatNeedsMore) {
  Toy toy("preempt", 1, {locals(3), locals(3)});
  ExhaustiveOptions options;
  options.max_preemptions = 0;
  const Seen none = explore_all(toy, options);
  EXPECT_EQ(none.executions, 2u);
  EXPECT_FALSE(none.complete);
  options.max_preemptions = 1;
  // Either begins; it is left after its first or second step, or never.
  EXPECT_EQ(explore_all(toy, options).executions, 6u);
  options.max_preemptions = 5;
  const Seen all = explore_all(toy, options);
  EXPECT_EQ(all.executions, 20u);
  EXPECT_TRUE(all.complete);
}

TEST(Exhaustive, ABoundOfExecutionsIsNotComplete) {
  Toy toy("bounded", 1, {locals(3), locals(3)});
  ExhaustiveOptions options = plain();
  options.max_executions = 19;
  const Seen some = explore_all(toy, options);
  EXPECT_EQ(some.executions, 19u);
  EXPECT_FALSE(some.complete);
  options.max_executions = 20;
  const Seen all = explore_all(toy, options);
  EXPECT_EQ(all.executions, 20u);
  EXPECT_TRUE(all.complete);
}

}  // namespace
}  // namespace gdakit::sim::test
