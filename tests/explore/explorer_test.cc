#include "sim/explore/explorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/explore/toys.h"

namespace gdakit::sim::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

ExploreOptions with(StrategyKind strategy) {
  ExploreOptions options;
  options.strategy = strategy;
  return options;
}

constexpr StrategyKind kAll[] = {StrategyKind::mixed, StrategyKind::random, StrategyKind::pct,
                                 StrategyKind::exhaustive};

TEST(Explore, EveryStrategyFindsTheLostUpdateAndShrinksIt) {
  for (const StrategyKind strategy : kAll) {
    Toy toy = counter(true, 3, 2);
    const Exploration found = explore(toy, with(strategy));
    ASSERT_FALSE(found.passed()) << strategy_name(strategy);
    const Failure& failure = *found.failure;
    EXPECT_EQ(failure.result.finding, FindingKind::invariant);
    EXPECT_EQ(failure.preemptions, 1u);
    EXPECT_EQ(failure.stale_reads, 0u);
    EXPECT_EQ(failure.execution + 1, found.executions);
    EXPECT_THAT(failure.nondeterminism, IsEmpty());
    EXPECT_EQ(failure.trace.events.size(), 12u);
  }
}

TEST(Explore, EveryStrategyPassesTheFixedProgram) {
  for (const StrategyKind strategy : kAll) {
    Toy toy = counter(false, 3, 2);
    const Exploration found = explore(toy, with(strategy));
    EXPECT_TRUE(found.passed()) << found.report();
    EXPECT_EQ(found.complete, strategy == StrategyKind::exhaustive);
    EXPECT_EQ(found.outcomes, 1u);
    EXPECT_EQ(found.executions, strategy == StrategyKind::exhaustive ? 90u : 2000u);
  }
}

TEST(Explore, AStaleReadIsFoundAndCounted) {
  for (const StrategyKind strategy : kAll) {
    Toy stale = message(true);
    const Exploration found = explore(stale, with(strategy));
    ASSERT_FALSE(found.passed()) << strategy_name(strategy);
    EXPECT_EQ(found.failure->stale_reads, 1u);
    EXPECT_EQ(found.failure->preemptions, 0u);
    Toy fresh = message(false);
    EXPECT_TRUE(explore(fresh, with(strategy)).passed());
  }
}

TEST(Explore, BothTokensReplayTheFailure) {
  for (const StrategyKind strategy : kAll) {
    Toy toy = counter(true, 3, 2);
    const Exploration found = explore(toy, with(strategy));
    ASSERT_FALSE(found.passed());
    for (const Token& token : {found.failure->token, found.failure->found_as}) {
      const Result<Token> typed = Token::parse(token.text());
      ASSERT_TRUE(typed);
      Toy again = counter(true, 3, 2);
      const Exploration replayed = replay(again, *typed);
      ASSERT_FALSE(replayed.passed()) << token.text();
      EXPECT_EQ(replayed.executions, 1u);
      EXPECT_EQ(replayed.failure->result.finding, FindingKind::invariant);
    }
    Toy fixed = counter(false, 3, 2);
    EXPECT_TRUE(replay(fixed, found.failure->token).passed());
  }
}

TEST(Explore, TheSameSeedGivesTheSameExploration) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ExploreOptions options;
    options.seed = seed;
    Toy toy = counter(true, 2, 3);
    const Exploration first = explore(toy, options);
    const Exploration second = explore(toy, options);
    ASSERT_EQ(first.executions, second.executions) << seed;
    ASSERT_EQ(first.passed(), second.passed()) << seed;
    if (first.passed()) continue;
    ASSERT_EQ(first.failure->token, second.failure->token) << seed;
    ASSERT_EQ(first.failure->found_as, second.failure->found_as) << seed;
  }
}

TEST(Explore, WithoutShrinkingTheRunStaysAsItWasFound) {
  ExploreOptions options;
  options.shrink = false;
  Toy toy = counter(true, 4, 5);
  const Exploration found = explore(toy, options);
  ASSERT_FALSE(found.passed());
  EXPECT_EQ(found.failure->shrink_executions, 0u);
  EXPECT_GT(found.failure->preemptions, 1u);
  EXPECT_FALSE(replay(toy, found.failure->token).passed());
}

TEST(Explore, TheReportSaysWhatFailedAndHowToReplayIt) {
  ExploreOptions options;
  options.seed = 0x77;
  Toy toy = counter(true);
  const Exploration found = explore(toy, options);
  ASSERT_FALSE(found.passed());
  const std::string report = found.report();
  const std::string token = found.failure->token.text();
  EXPECT_THAT(report, HasSubstr("racy-counter: invariant: the counter is 1 and not 2"));
  EXPECT_THAT(report, HasSubstr("seed 119"));
  EXPECT_THAT(report, HasSubstr("m-77-"));
  EXPECT_THAT(report, HasSubstr("needs     1 preemption"));
  EXPECT_THAT(report, HasSubstr("gdakit explore racy-counter --replay " + token));
  EXPECT_THAT(report, HasSubstr("agent 1  load"));
  EXPECT_EQ(found.failure->trace.scenario, "racy-counter");
  EXPECT_EQ(found.failure->trace.verdict, "the counter is 1 and not 2");
  EXPECT_THAT(found.summary(), HasSubstr("FAILED"));
  options.replay_command = "my_test --one";
  EXPECT_THAT(explore(toy, options).report(), HasSubstr("my_test --one --replay " + token));
}

// Fails every third time, whatever is chosen.
class Fickle : public Subject {
 public:
  const std::string& name() const override { return name_; }
  RunResult run(Chooser& chooser, Trace*) override {
    chooser.choose(Choice::load, 2);
    RunResult result;
    if (++runs_ % 3 == 0) {
      result.finding = FindingKind::race;
      result.text = "now and then";
    }
    return result;
  }

 private:
  std::string name_ = "fickle";
  int runs_ = 0;
};

TEST(Explore, ASubjectThatIsNotDeterministicIsCalledSo) {
  Fickle subject;
  const Exploration found = explore(subject);
  ASSERT_FALSE(found.passed());
  EXPECT_THAT(found.failure->nondeterminism, HasSubstr("first it ended with race"));
  EXPECT_THAT(found.report(), HasSubstr("NOT DETERMINISTIC"));
}

// Another outcome each time, whatever is chosen.
class Drifting : public Subject {
 public:
  const std::string& name() const override { return name_; }
  RunResult run(Chooser& chooser, Trace*) override {
    chooser.choose(Choice::load, 2);
    RunResult result;
    result.outcome = ++runs_;
    return result;
  }

 private:
  std::string name_ = "drifting";
  std::uint64_t runs_ = 0;
};

TEST(Explore, ASubjectThatPassesMustBeDeterministicToo) {
  Drifting subject;
  const Exploration found = explore(subject);
  ASSERT_FALSE(found.passed());
  EXPECT_EQ(found.executions, 1u);
  EXPECT_THAT(found.report(), HasSubstr("NOT DETERMINISTIC"));
  EXPECT_THAT(found.report(), HasSubstr("its outcome differed"));
}

// Asks for more choices from the fifth run on.
class Growing : public Subject {
 public:
  const std::string& name() const override { return name_; }
  RunResult run(Chooser& chooser, Trace*) override {
    const std::uint32_t count = ++runs_ < 5 ? 2 : 3;
    for (int i = 0; i < 4; ++i) chooser.choose(Choice::load, count);
    return {};
  }

 private:
  std::string name_ = "growing";
  int runs_ = 0;
};

TEST(Explore, AnExhaustiveSearchNoticesAnExecutionThatDiverges) {
  Growing subject;
  const Exploration found = explore(subject, with(StrategyKind::exhaustive));
  ASSERT_FALSE(found.passed());
  EXPECT_FALSE(found.complete);
  EXPECT_LT(found.executions, 10u);
  EXPECT_THAT(found.report(), HasSubstr("NOT DETERMINISTIC"));
}

// As many outcomes as its one choice has possibilities.
class Diverse : public Subject {
 public:
  const std::string& name() const override { return name_; }
  RunResult run(Chooser& chooser, Trace*) override {
    RunResult result;
    result.outcome = chooser.choose(Choice::delivery, 2 * kMostOutcomes);
    return result;
  }

 private:
  std::string name_ = "diverse";
};

TEST(Explore, OutcomesAreCountedUpToALimit) {
  Diverse subject;
  ExploreOptions options = with(StrategyKind::exhaustive);
  options.schedules = kMostOutcomes;
  const Exploration all = explore(subject, options);
  EXPECT_EQ(all.outcomes, kMostOutcomes);
  EXPECT_FALSE(all.more_outcomes);
  options.schedules = kMostOutcomes + 5;
  const Exploration more = explore(subject, options);
  EXPECT_EQ(more.outcomes, kMostOutcomes);
  EXPECT_TRUE(more.more_outcomes);
  EXPECT_THAT(more.summary(), HasSubstr("more than 65536 distinct outcomes"));
}

TEST(Explore, ATimeLimitEndsItAndProgressIsTold) {
  Toy toy = counter(false, 3, 2);
  ExploreOptions options;
  options.schedules = 0;
  options.seconds = 0.35;
  int calls = 0;
  double last = 0;
  const Exploration found = explore(toy, options, [&](const Progress& progress) {
    ++calls;
    EXPECT_GT(progress.executions, 0u);
    EXPECT_GE(progress.done, last);
    last = progress.done;
  });
  EXPECT_TRUE(found.passed());
  EXPECT_GE(found.seconds, 0.35);
  EXPECT_GE(calls, 1);
  EXPECT_LE(calls, 4);
}

TEST(Explore, ABoundedSearchIsNotComplete) {
  Toy toy = counter(false, 3, 3);
  ExploreOptions options = with(StrategyKind::exhaustive);
  options.schedules = 10;
  const Exploration found = explore(toy, options);
  EXPECT_EQ(found.executions, 10u);
  EXPECT_FALSE(found.complete);
}

}  // namespace
}  // namespace gdakit::sim::test
