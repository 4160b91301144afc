#include "sim/choice/choice.h"

#include <gtest/gtest.h>

#include "sim/explore/replay.h"

namespace gdakit::sim {
namespace {

using Kind = NextStep::Kind;

TEST(Independent, LoadsOfOneObjectCommuteAndStoresDoNot) {
  EXPECT_TRUE(independent({Kind::load, 1}, {Kind::load, 1}));
  EXPECT_FALSE(independent({Kind::load, 1}, {Kind::store, 1}));
  EXPECT_FALSE(independent({Kind::store, 1}, {Kind::load, 1}));
  EXPECT_FALSE(independent({Kind::store, 1}, {Kind::store, 1}));
  EXPECT_TRUE(independent({Kind::store, 1}, {Kind::store, 2}));
  EXPECT_TRUE(independent({Kind::load, 1}, {Kind::store, 2}));
}

TEST(Independent, FencesDependOnFencesOnly) {
  EXPECT_FALSE(independent({Kind::sc, 0}, {Kind::sc, 0}));
  EXPECT_TRUE(independent({Kind::sc, 0}, {Kind::store, 0}));
  EXPECT_TRUE(independent({Kind::load, 0}, {Kind::sc, 0}));
  EXPECT_TRUE(independent({Kind::sc, 0}, {Kind::sync, 0}));
}

TEST(Independent, BarriersDependOnTheSameBarrierOnly) {
  EXPECT_FALSE(independent({Kind::sync, 4}, {Kind::sync, 4}));
  EXPECT_TRUE(independent({Kind::sync, 4}, {Kind::sync, 5}));
  EXPECT_TRUE(independent({Kind::sync, 4}, {Kind::store, 4}));
}

TEST(Independent, UnknownDependsOnEverything) {
  for (const Kind kind :
       {Kind::local, Kind::load, Kind::store, Kind::sc, Kind::sync, Kind::unknown}) {
    EXPECT_FALSE(independent({Kind::unknown, 1}, {kind, 2}));
    EXPECT_FALSE(independent({kind, 2}, {Kind::unknown, 1}));
  }
  EXPECT_TRUE(independent({Kind::local, 0}, {Kind::sc, 0}));
}

TEST(Chooser, RecordsOpenChoicesOnlyWithTheirKinds) {
  ReplayStrategy strategy({1, 1, 2});
  Chooser chooser(strategy);
  ASSERT_TRUE(chooser.begin());
  const Candidate candidates[] = {{0, {}, false}, {1, {}, false}};
  EXPECT_EQ(chooser.choose(Choice::fault, 1), 0u);
  EXPECT_EQ(chooser.choose_agent({candidates, 1}), 0u);
  EXPECT_EQ(chooser.choose_agent(candidates), 1u);
  EXPECT_EQ(chooser.choose(Choice::load, 4), 1u);
  EXPECT_EQ(chooser.choose(Choice::knob, 3), 2u);
  EXPECT_EQ(chooser.taken(), (std::vector<std::uint32_t>{1, 1, 2}));
  EXPECT_EQ(chooser.taken_kinds(),
            (std::vector<Choice>{Choice::agent, Choice::load, Choice::knob}));
}

TEST(Replay, ClampsWhatIsTooLargeAndGoesOnPlainly) {
  ReplayStrategy strategy({9, 1});
  Chooser chooser(strategy);
  ASSERT_TRUE(chooser.begin());
  EXPECT_EQ(chooser.choose(Choice::load, 3), 2u);
  EXPECT_EQ(chooser.choose(Choice::load, 3), 1u);
  EXPECT_EQ(chooser.choose(Choice::load, 3), 0u);
  EXPECT_FALSE(chooser.begin()) << "there is one execution only";
}

}  // namespace
}  // namespace gdakit::sim
