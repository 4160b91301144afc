// Every call on a channel that a world notes: it does what Channel's do, and stands in the trace by
// its name and its line.
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/test.h"

namespace gdakit::users {
namespace {

using ::testing::UnorderedElementsAreArray;
using Word = std::uint64_t;

struct CallAll {
  const Channels* channels;
  Word* from;
  Word* to;
  Word* sum;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels[pe.my_pe()]);
    if (pe.my_pe() == 0) {
      send(channel);
    } else {
      pe.machine().store_weak(sum, receive(channel));
    }
  }

  template <class AnyChannel>
  GDAKIT_DEVICE void send(AnyChannel& channel) const {
    channel.put_nbi(to, from, 1, 1);
    channel.put_async(to, from, 1, 1);
    channel.send(from, 1, 1);
    channel.send_nbi(from, 1, 1);
    channel.wait(channel.send_async(from, 1, 1));
    channel.put_with_immediate(to, from, 1, 4, 1);
    channel.put_with_immediate_nbi(to, from, 1, 5, 1);
    channel.test(channel.put_with_immediate_async(to, from, 1, 6, 1));
    channel.quiet();
  }

  template <class AnyChannel>
  GDAKIT_DEVICE Word receive(AnyChannel& channel) const {
    for (Word i = 0; i < 3; ++i) channel.post_receive(to + 1, sizeof(Word), 0);
    for (Word i = 0; i < 3; ++i) channel.post_receive(0);
    Word numbers = 0;
    for (Word i = 0; i < 4; ++i) numbers += channel.wait_receive(0).number;  // 0 .. 3
    numbers += channel.wait_receive_any().immediate;                         // 5
    numbers += channel.wait_receive_any().immediate;                         // 6
    if (channel.poll_receive(0).arrived() || channel.poll_receive_any().arrived()) return 0;
    return numbers;
  }
};

sim::Exploration explored(Word wanted) {
  sim::World world("all calls", {.pes = 2, .channels = 1, .receive_depth = 8});
  const CallAll kernel{world.channels(), world.allocate<Word>("from", 1),
                       world.allocate<Word>("to", 2), world.allocate<Word>("sum", 1)};
  world.launch({.blocks = 1, .threads = 1}, kernel);
  world.check(
      [=](sim::After& after) { after.expect_eq("the sum", after.value(1, kernel.sum), wanted); });
  return sim::explore_in_test(world, {.schedules = 20, .shrink = false});
}

TEST(NotedChannelCalls, DoWhatChannelsDo) {
  const sim::Exploration found = explored(17);
  EXPECT_TRUE(found.passed()) << found.report();
}

constexpr const char* kAllCalls =
    "put_nbi put_async send send_nbi send_async put_with_immediate put_with_immediate_nbi "
    "put_with_immediate_async wait test quiet post_receive poll_receive poll_receive_any "
    "wait_receive wait_receive_any ";

std::set<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(NotedChannelCalls, StandInTheTraceWithNameAndLine) {
  const sim::Exploration found = explored(18);
  ASSERT_FALSE(found.passed());
  std::set<std::string> names;
  for (const sim::Event& event : found.failure->trace.events) {
    if (event.kind != sim::EventKind::call) continue;
    names.insert(event.what.substr(0, event.what.find(' ')));
    EXPECT_TRUE(event.file.ends_with("channel_calls_test.cc")) << event.file;
  }
  EXPECT_THAT(names, UnorderedElementsAreArray(words(kAllCalls)));
}

}  // namespace
}  // namespace gdakit::users
