#include "sim/explore/shrink.h"

#include <functional>

#include <gtest/gtest.h>

#include "sim/explore/mixed.h"
#include "sim/explore/replay.h"
#include "tests/explore/toys.h"

namespace gdakit::sim::test {
namespace {

using Vector = std::vector<std::uint32_t>;

// Asks for `length` choices of four possibilities each, and fails as a function of the picks says.
class Asked : public Subject {
 public:
  using Verdict = std::function<FindingKind(const Vector&)>;
  Asked(std::size_t length, Verdict verdict) : length_(length), verdict_(std::move(verdict)) {}

  const std::string& name() const override { return name_; }
  RunResult run(Chooser& chooser, Trace*) override {
    for (std::size_t i = 0; i < length_; ++i) {
      chooser.choose(i % 2 == 0 ? Choice::load : Choice::fault, 4);
    }
    RunResult result;
    result.finding = verdict_(chooser.taken());
    return result;
  }

 private:
  std::string name_ = "asked";
  std::size_t length_;
  Verdict verdict_;
};

Picks filled(std::size_t length, std::uint32_t value) {
  Picks picks;
  picks.picks.assign(length, value);
  return picks;
}

TEST(Shrink, KeepsWhatTheFailureNeedsAndNothingElse) {
  Asked subject(600, [](const Vector& picks) {
    return picks[100] >= 2 && picks[301] != 0 ? FindingKind::race : FindingKind::none;
  });
  const Shrunk shrunk = shrink(subject, filled(600, 3), 2000);
  Vector expected(302);
  expected[100] = 2;
  expected[301] = 1;
  EXPECT_EQ(shrunk.picks.picks, expected);
  EXPECT_EQ(shrunk.picks.deviations(Choice::load), 1u);
  EXPECT_EQ(shrunk.picks.deviations(Choice::fault), 1u);
  EXPECT_EQ(shrunk.picks.deviations(Choice::agent), 0u);
  EXPECT_EQ(shrunk.picks.deviations_text(), "1 stale read, 1 fault");
  EXPECT_TRUE(shrunk.finished);
  EXPECT_LT(shrunk.executions, 200u);
  EXPECT_EQ(shrunk.result.finding, FindingKind::race);
}

TEST(Shrink, SeveralOfAKindAreNamedInThePlural) {
  const Picks picks{
      {1, 1, 2, 1, 1},
      {Choice::delivery, Choice::delivery, Choice::defer, Choice::defer, Choice::load}};
  EXPECT_EQ(picks.deviations_text(), "1 stale read, 2 deferred accesses, 2 reordered deliveries");
}

TEST(Shrink, AFailureThatNeedsNothingIsThePlainRun) {
  Asked subject(50, [](const Vector&) { return FindingKind::invariant; });
  const Shrunk shrunk = shrink(subject, filled(50, 1), 2000);
  EXPECT_TRUE(shrunk.picks.picks.empty());
  EXPECT_EQ(shrunk.picks.deviations_text(), "none");
}

// Another defect on the way does not count, even where it needs less.
TEST(Shrink, StaysWithTheSameKindOfFinding) {
  Asked subject(40, [](const Vector& picks) {
    if (picks[7] != 0 && picks[20] != 0) return FindingKind::race;
    return picks[7] != 0 ? FindingKind::hang : FindingKind::none;
  });
  const Shrunk shrunk = shrink(subject, filled(40, 2), 2000);
  EXPECT_EQ(shrunk.result.finding, FindingKind::race);
  EXPECT_EQ(shrunk.picks.deviations(Choice::fault) + shrunk.picks.deviations(Choice::load), 2u);
}

// Leaving an agent and coming back to it: neither goes without the other.
TEST(Shrink, PicksThatOnlyGoTogetherGoTogether) {
  Asked subject(300, [](const Vector& picks) {
    const bool needed = picks[50] != 0 && picks[60] != 0 && picks[70] != 0;
    return needed && (picks[10] != 0) == (picks[200] != 0) ? FindingKind::race : FindingKind::none;
  });
  const Shrunk shrunk = shrink(subject, filled(300, 1), 5000);
  Vector expected(71);
  expected[50] = expected[60] = expected[70] = 1;
  EXPECT_EQ(shrunk.picks.picks, expected);
}

// Its first choice brings three more of the same kind with it if it is not plain.
class Bringing : public Subject {
 public:
  const std::string& name() const override { return name_; }
  RunResult run(Chooser& chooser, Trace*) override {
    if (chooser.choose(Choice::load, 2) != 0) {
      for (int i = 0; i < 3; ++i) chooser.choose(Choice::load, 2);
    }
    std::uint32_t last = 0;
    for (int i = 0; i < 5; ++i) last = chooser.choose(Choice::load, 2);
    RunResult result;
    if (last != 0) result.finding = FindingKind::race;
    return result;
  }

 private:
  std::string name_ = "bringing";
};

TEST(Shrink, WhatADeviationBringsWithItGoesWithIt) {
  Bringing subject;
  Picks failing;
  failing.picks = {1, 0, 0, 0, 0, 0, 0, 0, 1};
  const Shrunk shrunk = shrink(subject, failing, 2000);
  EXPECT_EQ(shrunk.picks.picks, (Vector{0, 0, 0, 0, 0, 1}));
}

TEST(Shrink, StopsAtItsLimitWithSomethingThatFails) {
  Asked subject(600, [](const Vector& picks) {
    return picks[100] != 0 && picks[301] != 0 ? FindingKind::race : FindingKind::none;
  });
  const Shrunk shrunk = shrink(subject, filled(600, 3), 9);
  EXPECT_EQ(shrunk.executions, 9u);
  EXPECT_FALSE(shrunk.finished);
  EXPECT_EQ(shrunk.result.finding, FindingKind::race);
  ReplayStrategy strategy(shrunk.picks.picks);
  Chooser chooser(strategy);
  chooser.begin();
  EXPECT_EQ(subject.run(chooser, nullptr).finding, FindingKind::race);
}

TEST(Shrink, PicksThatDoNotFailAreReportedAsSuch) {
  Asked subject(10, [](const Vector&) { return FindingKind::none; });
  const Shrunk shrunk = shrink(subject, filled(10, 1), 2000);
  EXPECT_TRUE(shrunk.result.passed());
  EXPECT_EQ(shrunk.executions, 1u);
}

// A lost update needs one preemption, between the load and the store of one of the agents, however
// many there are.
TEST(Shrink, ALostUpdateNeedsOnePreemption) {
  int failures = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Toy toy = counter(true, 4, 5);
    MixedStrategy strategy(seed);
    Chooser chooser(strategy);
    chooser.begin();
    if (toy.run(chooser, nullptr).passed()) continue;
    ++failures;
    const Shrunk shrunk = shrink(toy, Picks::taken_by(chooser), 2000);
    EXPECT_EQ(shrunk.result.finding, FindingKind::invariant);
    EXPECT_EQ(shrunk.picks.deviations_text(), "1 preemption") << seed;
    EXPECT_EQ(shrunk.picks.picks.size(), 2u) << seed;
    EXPECT_TRUE(shrunk.finished);
  }
  EXPECT_GT(failures, 10);
}

}  // namespace
}  // namespace gdakit::sim::test
