// Talks that scenarios draw have one right answer: nothing in them depends on an order that gdakit
// does not promise.
#include "sim/world/scenarios/talk_program.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace gdakit::sim::scenarios {
namespace {

constexpr std::uint64_t kTalks = 3000;

TalkShape shape_of_two() {
  TalkShape shape;
  shape.players = 2;
  shape.steps = 8;
  return shape;
}

// look(player, its steps), for the players of many talks.
template <class Look>
void for_each_part(const TalkShape& shape, const Look& look) {
  for (std::uint64_t number = 0; number < kTalks; ++number) {
    const Talk talk = draw_talk(shape, number);
    for (std::uint32_t player = 0; player < shape.all(); ++player) look(player, talk.steps[player]);
  }
}

bool is_put(const TalkStep& step) {
  return step.act == TalkAct::put || step.act == TalkAct::put_value ||
         (step.act == TalkAct::tell && step.telling == Telling::put_signal) ||
         (step.act == TalkAct::send && step.is_put);
}

// look(byte of the row), for each that a put writes.
template <class Look>
void for_each_byte(const TalkStep& step, const Look& look) {
  const auto size = static_cast<std::int32_t>(size_of(step.element));
  for (std::uint32_t i = 0; i < step.count; ++i) {
    for (std::int32_t byte = 0; byte < size; ++byte) {
      look(static_cast<std::int32_t>(step.remote) +
           static_cast<std::int32_t>(i) * size * step.remote_stride + byte);
    }
  }
}

TEST(TalkProgram, HasEverythingInSomeOfThem) {
  std::set<TalkAct> acts;
  std::set<std::pair<TalkAct, Ending>> endings;
  std::set<Element> elements;
  std::set<Telling> tellings;
  std::set<Hearing> hearings;
  std::set<Change> changes, fetches;
  for_each_part(shape_of_two(), [&](std::uint32_t, const std::vector<TalkStep>& steps) {
    for (const TalkStep& step : steps) {
      acts.insert(step.act);
      if (step.act == TalkAct::put || step.act == TalkAct::get) {
        endings.emplace(step.act, step.ending);
        elements.insert(step.element);
      }
      if (step.act == TalkAct::tell) tellings.insert(step.telling);
      if (step.act == TalkAct::hear) hearings.insert(step.hearing);
      if (step.act == TalkAct::change) changes.insert(step.change);
      if (step.act == TalkAct::fetch) fetches.insert(step.change);
    }
  });
  EXPECT_EQ(acts.size(), kTalkActs);
  EXPECT_EQ(endings.size(), 6u);
  EXPECT_EQ(elements.size(), kElements);
  EXPECT_EQ(tellings.size(), kTellings);
  EXPECT_EQ(hearings.size(), kHearings);
  EXPECT_EQ(changes.size(), kPlainChanges);
  EXPECT_EQ(fetches.size(), kFetchChanges);
}

// What two PEs' players do together must be the same.
void expect_same_meeting(const TalkStep& one, const TalkStep& other) {
  ASSERT_EQ(one.meeting, other.meeting);
  ASSERT_EQ(one.root, other.root);
  ASSERT_EQ(one.count, other.count);
  ASSERT_EQ(one.brought.size(), other.brought.size());
}

std::vector<TalkStep> meetings_of(const std::vector<TalkStep>& steps) {
  std::vector<TalkStep> found;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(found),
               [](const TalkStep& step) { return step.act == TalkAct::meet; });
  return found;
}

TEST(TalkProgram, LetsPlayersOfOneNumberMeetAtOnce) {
  TalkShape shape = shape_of_two();
  shape.meetings = 3;
  std::set<TalkMeeting> meetings;
  for (std::uint64_t number = 0; number < kTalks; ++number) {
    const Talk talk = draw_talk(shape, number);
    for (std::uint32_t player = 0; player < shape.players; ++player) {
      const auto of_first = meetings_of(talk.steps[player]);
      const auto of_second = meetings_of(talk.steps[shape.players + player]);
      ASSERT_EQ(of_first.size(), of_second.size());
      ASSERT_LE(of_first.size(), shape.meetings);
      for (std::size_t i = 0; i < of_first.size(); ++i) {
        expect_same_meeting(of_first[i], of_second[i]);
        meetings.insert(of_first[i].meeting);
      }
    }
  }
  EXPECT_EQ(meetings.size(), kTalkMeetings);
}

TEST(TalkProgram, IsTheSameForTheSameNumber) {
  const TalkShape shape = shape_of_two();
  for (std::uint64_t number = 0; number < 100; ++number) {
    const Talk talk = draw_talk(shape, number);
    EXPECT_EQ(talk.memory[1].inbox, draw_talk(shape, number).memory[1].inbox);
    EXPECT_NE(talk.memory[0].counters, draw_talk(shape, number + 1).memory[0].counters);
  }
}

TEST(TalkProgram, StaysInsideItsRows) {
  for_each_part(shape_of_two(), [](std::uint32_t, const std::vector<TalkStep>& steps) {
    for (const TalkStep& step : steps) {
      if (!is_put(step)) continue;
      for_each_byte(step, [](std::int32_t byte) {
        ASSERT_GE(byte, 0);
        ASSERT_LT(byte, static_cast<std::int32_t>(kRowBytes));
      });
    }
  });
}

// Who has heard of a byte may look at it as late as it likes.
TEST(TalkProgram, WritesNothingAgainThatWasTold) {
  const TalkShape shape = shape_of_two();
  std::uint64_t heard = 0;
  for (std::uint64_t number = 0; number < kTalks; ++number) {
    const Talk talk = draw_talk(shape, number);
    for (std::uint32_t player = 0; player < shape.all(); ++player) {
      const TalkMemory& end = talk.memory[player / shape.players];
      for (const TalkStep& step : talk.steps[player]) {
        for (const auto& [teller, told] : step.told) {
          for (const auto& [byte, value] : told.row) {
            ASSERT_EQ(end.inbox[teller * kRowBytes + byte], value);
            ++heard;
          }
        }
      }
    }
  }
  EXPECT_GT(heard, 1000u);
}

// What has been written to a byte at some PE and may not be complete.
struct Moving {
  TalkWay way = TalkWay::first;
  bool fenced = false;
};

// Looks at one player's steps, in a world where nothing but quiet and fence orders puts. A get may
// stand behind a put of its queue if `reads_follow`.
void expect_orders(const std::vector<TalkStep>& steps, bool reads_follow) {
  std::map<std::pair<std::uint32_t, std::int32_t>, Moving> moves;
  for (const TalkStep& step : steps) {
    if (step.way == TalkWay::channel) continue;
    if (step.act == TalkAct::quiet || step.act == TalkAct::meet) moves.clear();
    if (step.act == TalkAct::fence) {
      for (auto& [byte, moving] : moves) moving.fenced |= moving.way == step.way;
    }
    const bool gets = (step.act == TalkAct::get || step.act == TalkAct::get_value) && step.of_inbox;
    if (!is_put(step) && !gets) continue;
    for_each_byte(step, [&](std::int32_t byte) {
      const auto before = moves.find({step.pe, byte});
      if (before == moves.end()) return;
      ASSERT_EQ(before->second.way, step.way);
      ASSERT_TRUE(gets ? reads_follow : before->second.fenced);
    });
    if (gets) continue;
    for_each_byte(step, [&](std::int32_t byte) { moves[{step.pe, byte}] = {step.way, false}; });
  }
}

TEST(TalkProgram, TouchesWhatIsOnItsWayBehindAnOrderAlone) {
  TalkShape direct = shape_of_two();
  direct.direct = true;
  TalkShape placed = shape_of_two();
  placed.placed = true;
  TalkShape of_groups = shape_of_two();
  of_groups.alone = false;
  TalkShape meeting = direct;
  meeting.meetings = 3;
  for (const TalkShape& shape : {direct, placed, of_groups, meeting}) {
    for_each_part(shape, [&](std::uint32_t, const std::vector<TalkStep>& steps) {
      expect_orders(steps, shape.placed);
    });
  }
}

TEST(TalkProgram, ReceivesEveryMessage) {
  const TalkShape shape = shape_of_two();
  for (std::uint64_t number = 0; number < kTalks; ++number) {
    const Talk talk = draw_talk(shape, number);
    for (std::uint32_t player = 0; player < shape.all(); ++player) {
      std::size_t letters = 0, received = 0;
      for (const auto& of_pe : talk.letters[player]) letters += of_pe.size();
      for (const TalkStep& step : talk.steps[player]) received += step.act == TalkAct::receive;
      ASSERT_EQ(received, letters);
    }
  }
}

}  // namespace
}  // namespace gdakit::sim::scenarios
