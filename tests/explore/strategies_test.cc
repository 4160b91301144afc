// The strategies that execution after execution draw at random.
#include <algorithm>
#include <array>
#include <set>

#include <gtest/gtest.h>

#include "sim/explore/mixed.h"
#include "sim/explore/token.h"
#include "tests/explore/toys.h"

namespace gdakit::sim::test {
namespace {

using Picks = std::vector<std::uint32_t>;

// Asks for choices of every kind, as a world would, without being one. Four agents, of which agent
// 2 gives its turn away now and then.
Picks drive(Strategy& strategy, std::uint32_t length = 400) {
  Chooser chooser(strategy);
  EXPECT_TRUE(chooser.begin());
  chooser.choose(Choice::knob, 3);
  chooser.choose(Choice::knob, 2);
  std::vector<Candidate> candidates = {
      {0, {}, false}, {1, {}, false}, {2, {}, false}, {3, {}, false}};
  for (std::uint32_t i = 0; i < length; ++i) {
    const std::uint32_t picked = chooser.choose_agent(candidates);
    std::rotate(candidates.begin(), candidates.begin() + picked, candidates.begin() + picked + 1);
    std::sort(candidates.begin() + 1, candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.agent < b.agent; });
    candidates[0].yielded = candidates[0].agent == 2 && i % 3 == 0;
    chooser.choose(Choice::load, 2 + i % 7);
    if (i % 4 == 0) chooser.choose(Choice::position, 3);
    if (i % 5 == 0) chooser.choose(Choice::defer, 2);
    if (i % 6 == 0) chooser.choose(Choice::gather, 2);
    if (i % 7 == 0) chooser.choose(Choice::delivery, 4);
    if (i % 9 == 0) chooser.choose(Choice::fault, 2);
  }
  chooser.end();
  return chooser.taken();
}

template <class Strategy>
class Seeded : public testing::Test {};
using SeededStrategies = testing::Types<RandomStrategy, PctStrategy, MixedStrategy>;
TYPED_TEST_SUITE(Seeded, SeededStrategies);

TYPED_TEST(Seeded, TheSameSeedGivesTheSamePicksForwardsAndBackwards) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    TypeParam forwards(seed);
    std::vector<Picks> runs;
    for (int execution = 0; execution < 8; ++execution) runs.push_back(drive(forwards));
    TypeParam backwards(seed);
    for (std::size_t execution = runs.size(); execution-- > 0;) {
      backwards.seek(execution);
      ASSERT_EQ(drive(backwards), runs[execution]) << "seed " << seed << " execution " << execution;
    }
  }
}

TYPED_TEST(Seeded, ExecutionsAndSeedsDiffer) {
  std::set<Picks> different;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    TypeParam strategy(seed);
    for (int execution = 0; execution < 10; ++execution) different.insert(drive(strategy));
  }
  EXPECT_GE(different.size(), 99u);
}

TYPED_TEST(Seeded, PicksStayWithinTheirCounts) {
  class Checked final : public Strategy {
   public:
    explicit Checked(Strategy& inner) : inner_(&inner) {}
    bool begin() override { return inner_->begin(); }
    std::uint32_t pick(Choice kind, std::uint32_t count) override {
      const std::uint32_t picked = inner_->pick(kind, count);
      EXPECT_LT(picked, count);
      return picked;
    }
    std::uint32_t pick_agent(std::span<const Candidate> candidates) override {
      const std::uint32_t picked = inner_->pick_agent(candidates);
      EXPECT_LT(picked, candidates.size());
      return picked;
    }

   private:
    Strategy* inner_;
  };
  TypeParam strategy(3);
  Checked checked(strategy);
  for (int execution = 0; execution < 300; ++execution) drive(checked);
}

// Half of the executions leave the world at its defaults, and every knob's every value comes.
TYPED_TEST(Seeded, KnobsAreSwarmed) {
  TypeParam strategy(17);
  int defaults = 0;
  std::set<std::pair<std::uint32_t, std::uint32_t>> worlds;
  for (int execution = 0; execution < 600; ++execution) {
    strategy.begin();
    const std::uint32_t first = strategy.pick(Choice::knob, 3);
    const std::uint32_t second = strategy.pick(Choice::knob, 2);
    worlds.insert({first, second});
    defaults += first == 0 && second == 0;
  }
  EXPECT_EQ(worlds.size(), 6u);
  EXPECT_NEAR(defaults, 600 / 2 + 600 / 12, 60);
}

// Every program is as likely as another, in worlds at their defaults, too.
TYPED_TEST(Seeded, ProgramsAreDrawnEvenly) {
  TypeParam strategy(17);
  std::array<int, 4> drawn{};
  for (int execution = 0; execution < 1200; ++execution) {
    strategy.begin();
    ++drawn[strategy.pick(Choice::program, 4)];
  }
  for (const int count : drawn) EXPECT_NEAR(count, 300, 60);
}

// Some executions have no stale reads at all, some many.
TEST(Random, SwarmsItsOdds) {
  RandomStrategy strategy(5);
  int none = 0;
  int many = 0;
  std::uint32_t deepest = 0;
  for (int execution = 0; execution < 200; ++execution) {
    strategy.begin();
    int stale = 0;
    for (int i = 0; i < 100; ++i) {
      const std::uint32_t picked = strategy.pick(Choice::load, 8);
      stale += picked > 0;
      deepest = std::max(deepest, picked);
    }
    none += stale == 0;
    many += stale > 35;
  }
  EXPECT_NEAR(none, 40, 20);
  EXPECT_NEAR(many, 80, 30);
  EXPECT_EQ(deepest, 7u);
}

// Whoever stops makes room for any other, not for the first one, even without preemptions.
TEST(Random, AfterAnAgentThatIsGoneAnyOtherGoesOn) {
  std::vector<int> counts(4);
  const Candidate all[] = {{1, {}, false}, {4, {}, false}, {5, {}, false}, {6, {}, false}};
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    RandomStrategy strategy(seed);
    strategy.begin();
    strategy.only_agent({3, {}, false});
    ++counts[strategy.pick_agent(all)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 100, 40);
}

TEST(Random, AnAgentThatGivesItsTurnAwayIsNotPickedAgain) {
  const Candidate all[] = {{2, {}, true}, {0, {}, true}, {1, {}, false}, {3, {}, false}};
  std::set<std::uint32_t> after_yield;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStrategy strategy(seed);
    strategy.begin();
    strategy.only_agent(all[0]);
    after_yield.insert(strategy.pick_agent(all));
  }
  EXPECT_EQ(after_yield, (std::set<std::uint32_t>{2, 3}));
}

// Nobody is shut out for ever when all wait.
TEST(Random, AgentsThatAllWaitTakeTurns) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RandomStrategy strategy(seed);
    strategy.begin();
    std::set<std::uint32_t> ran;
    std::uint32_t last = 0;
    for (int i = 0; i < 200; ++i) {
      std::vector<Candidate> all = {{last, {}, true}};
      for (std::uint32_t agent = 0; agent < 4; ++agent) {
        if (agent != last) all.push_back({agent, {}, true});
      }
      last = all[strategy.pick_agent(all)].agent;
      ran.insert(last);
    }
    EXPECT_EQ(ran.size(), 4u) << seed;
  }
}

TEST(Pct, DeviatesAtFewPlacesOnly) {
  PctStrategy strategy(9);
  std::set<int> stale_counts;
  std::set<int> switch_counts;
  for (int execution = 0; execution < 400; ++execution) {
    strategy.begin();
    int stale = 0;
    int switches = 0;
    std::uint32_t running = 0;
    for (int i = 0; i < 2000; ++i) {
      stale += strategy.pick(Choice::load, 8) != 0;
      std::vector<Candidate> all = {{running, {}, false}};
      for (std::uint32_t agent = 0; agent < 6; ++agent) {
        if (agent != running) all.push_back({agent, {}, false});
      }
      const std::uint32_t next = all[strategy.pick_agent(all)].agent;
      switches += next != running;
      running = next;
    }
    stale_counts.insert(stale);
    switch_counts.insert(switches);
  }
  EXPECT_EQ(stale_counts, (std::set<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(*switch_counts.begin(), 0);
  EXPECT_LE(*switch_counts.rbegin(), 6) << "five changes, and the first agent";
}

TEST(Pct, AgentsThatAllWaitTakeTurns) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    PctStrategy strategy(seed);
    strategy.begin();
    std::set<std::uint32_t> ran;
    std::uint32_t last = 0;
    for (int i = 0; i < 12; ++i) {
      std::vector<Candidate> all = {{last, {}, true}};
      for (std::uint32_t agent = 0; agent < 4; ++agent) {
        if (agent != last) all.push_back({agent, {}, true});
      }
      last = all[strategy.pick_agent(all)].agent;
      ran.insert(last);
    }
    EXPECT_EQ(ran.size(), 4u) << seed;
  }
}

TEST(Mixed, TakesTurns) {
  MixedStrategy mixed(21);
  RandomStrategy random(21);
  PctStrategy pct(21);
  for (std::uint64_t execution = 0; execution < 6; ++execution) {
    const Picks picks = drive(mixed);
    random.seek(execution);
    pct.seek(execution);
    EXPECT_EQ(picks, execution % 2 == 0 ? drive(random) : drive(pct)) << execution;
  }
}

TEST(Token, NamesTheExecutionOfItsStrategy) {
  MixedStrategy mixed(0x5f3a);
  mixed.seek(300);
  const Picks picks = drive(mixed);
  const Token token(SeededRun{StrategyKind::mixed, 0x5f3a, 300});
  EXPECT_EQ(drive(*token.strategy()), picks);
  const Token vector(picks);
  EXPECT_EQ(drive(*vector.strategy()), picks);
  EXPECT_NE(drive(*Token(SeededRun{StrategyKind::mixed, 0x5f3a, 301}).strategy()), picks);
}

}  // namespace
}  // namespace gdakit::sim::test
