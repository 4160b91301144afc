// Programs that scenarios draw have one right answer: nothing in them depends on an order that
// gdakit does not promise.
#include "sim/world/scenarios/drawn_program.h"

#include <cstdint>
#include <set>
#include <utility>

#include <gtest/gtest.h>

namespace gdakit::sim::scenarios {
namespace {

constexpr std::uint64_t kPrograms = 3000;

DrawnShape shape_of_three() {
  DrawnShape shape;
  shape.teams = {{0, 1, 2}, {2, 0}};
  shape.rounds = 2;
  return shape;
}

// What a PE does in a round, in order.
template <class Look>
void for_each_part(const DrawnShape& shape, const Look& look) {
  for (std::uint64_t number = 0; number < kPrograms; ++number) {
    for (const Round& round : draw_program(shape, number)) {
      for (std::uint32_t pe = 0; pe < shape.pes(); ++pe) look(pe, round.steps[pe]);
    }
  }
}

bool is_put(const Step& step) { return step.act <= Act::put_signal; }
bool is_get(const Step& step) { return step.act > Act::put_signal && step.act <= Act::iget; }

TEST(DrawnProgram, HasEverythingInSomeOfThem) {
  DrawnShape shape = shape_of_three();
  shape.refusals = 3;
  std::set<Act> acts;
  std::set<std::pair<Gathering, std::int32_t>> gatherings;
  std::set<Meeting> meetings;
  for (std::uint64_t number = 0; number < kPrograms; ++number) {
    for (const Round& round : draw_program(shape, number)) {
      for (const auto& steps : round.steps) {
        for (const Step& step : steps) acts.insert(step.act);
      }
      gatherings.emplace(round.collective.what, round.collective.team);
      meetings.insert(round.meeting);
    }
  }
  EXPECT_EQ(acts.size(), kActs);
  EXPECT_EQ(gatherings.size(), 2 * kGatherings);
  EXPECT_EQ(meetings.size(), kMeetings);
}

TEST(DrawnProgram, IsTheSameForTheSameNumber) {
  const DrawnShape shape = shape_of_three();
  for (std::uint64_t number = 0; number < 100; ++number) {
    EXPECT_EQ(draw_program(shape, number)[1].after, draw_program(shape, number)[1].after);
    EXPECT_NE(draw_program(shape, number)[1].after, draw_program(shape, number + 1)[1].after);
  }
}

TEST(DrawnProgram, OfAPeWritesItsOwnBlocksAlone) {
  for_each_part(shape_of_three(), [](std::uint32_t pe, const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      for (std::uint32_t i = 0; i < step.count && is_put(step); ++i) {
        ASSERT_EQ(step.remote.place, Place::inbox);
        ASSERT_EQ(step.remote.word(i) / kDrawnWords, pe);
      }
    }
  });
}

TEST(DrawnProgram, StaysInsideItsArrays) {
  for_each_part(shape_of_three(), [](std::uint32_t, const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      for (std::uint32_t i = 0; i < step.count && (is_put(step) || is_get(step)); ++i) {
        ASSERT_LT(step.remote.word(i), words_of(step.remote.place, 3));
        ASSERT_LT(step.local.word(i), words_of(step.local.place, 3));
      }
    }
  });
}

// Where nothing but quiet and fence orders: a word that is on its way is not touched before.
TEST(DrawnProgram, TouchesWhatIsOnItsWayBehindAnOrderAlone) {
  DrawnShape shape = shape_of_three();
  shape.ordered = false;
  for_each_part(shape, [](std::uint32_t, const std::vector<Step>& steps) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> written, fenced, read;
    std::set<std::uint32_t> comes;
    for (const Step& step : steps) {
      if (step.act == Act::quiet) written = fenced = read = {}, comes = {};
      if (step.act == Act::fence) fenced = written;
      for (std::uint32_t i = 0; i < step.count && (is_put(step) || is_get(step)); ++i) {
        const std::pair word{step.pe, step.remote.word(i)};
        if (is_put(step)) {
          ASSERT_TRUE(written.count(word) == 0 || fenced.count(word) != 0);
          ASSERT_EQ(read.count(word), 0u);
          written.insert(word);
          fenced.erase(word);
        } else if (step.remote.place == Place::inbox) {
          ASSERT_EQ(written.count(word), 0u);
          if (step.act == Act::get_nbi) read.insert(word);
        }
        if (!is_get(step) || step.act == Act::get_value) continue;
        ASSERT_EQ(comes.count(step.local.word(i)), 0u);
        if (step.act == Act::get_nbi) comes.insert(step.local.word(i));
      }
    }
  });
}

TEST(DrawnProgram, KnowsWhatCollectivesMake) {
  DrawnShape shape;
  shape.teams = {{0, 1}};
  std::uint32_t reductions = 0;
  for (std::uint64_t number = 0; number < kPrograms; ++number) {
    const Round round = draw_program(shape, number)[0];
    if (round.collective.what != Gathering::reduce || round.collective.in_place) continue;
    if (round.collective.counts[0] == 0) continue;
    ++reductions;
    for (const Memory& of_pe : round.after) {
      EXPECT_EQ(of_pe[static_cast<std::size_t>(Place::gathered)][0],
                own_word(0, 0, 0) + own_word(0, 1, 0));
    }
  }
  EXPECT_GT(reductions, 100u);
}

}  // namespace
}  // namespace gdakit::sim::scenarios
