// Worlds that cannot be say so, and what to do about it.
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/users/mail.h"

namespace gdakit::users {
namespace {

using sim::WorldOptions;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Nothing {
  template <class Pe>
  void operator()(Pe&) const {}
};

using Change = std::function<void(WorldOptions&)>;
using SetUp = std::function<void(sim::World&)>;

void launch_nothing(sim::World& world) { world.launch({.blocks = 1, .threads = 1}, Nothing{}); }

sim::Exploration explored(const Change& change, const SetUp& set_up = launch_nothing) {
  WorldOptions options;
  if (change) change(options);
  sim::World world("small", options);
  set_up(world);
  return sim::explore_in_test(world, {.schedules = 3});
}

void expect_problem(const std::string& text, const Change& change,
                    const SetUp& set_up = launch_nothing) {
  const sim::Exploration found = explored(change, set_up);
  ASSERT_FALSE(found.passed()) << "wanted: " << text;
  EXPECT_STREQ(finding_name(found.failure->result.finding), "set-up");
  EXPECT_THAT(found.report(), StartsWith("small: set-up: "));
  EXPECT_THAT(found.report(), HasSubstr(text));
}

void expect_passes(const Change& change, const SetUp& set_up = launch_nothing) {
  const sim::Exploration found = explored(change, set_up);
  EXPECT_TRUE(found.passed()) << found.report();
}

TEST(WorldSetup, SaysHowManyPesThereMayBe) {
  expect_problem("pes is 0; give 1 to 64", [](WorldOptions& o) { o.pes = 0; });
  expect_problem("pes is 65; ", [](WorldOptions& o) { o.pes = 65; });
  expect_passes([](WorldOptions& o) { o.pes = 1; });
}
TEST(WorldSetup, SaysHowManyQueuesThereMayBe) {
  expect_problem("queues is 0; give 1 to 64", [](WorldOptions& o) { o.queues = 0; });
  expect_problem("queues is 65; ", [](WorldOptions& o) { o.queues = 65; });
  expect_problem("exclusive_queues is 65; ", [](WorldOptions& o) { o.exclusive_queues = 65; });
  expect_passes([](WorldOptions& o) { o.queues = o.exclusive_queues = 2; });
}
TEST(WorldSetup, SaysWhichDepthsThereAre) {
  for (const std::uint32_t depth : {0u, 16u, 33u, 65536u}) {
    expect_problem("depth is " + std::to_string(depth) + "; give a power of two from 32 to 32768",
                   [=](WorldOptions& o) { o.depth = depth; });
  }
  expect_passes([](WorldOptions& o) { o.depth = 64; });
}
TEST(WorldSetup, SaysHowManyFetchSlotsThereMayBe) {
  for (const std::uint32_t slots : {0u, 3u, 8192u}) {
    expect_problem("fetch_slots is " + std::to_string(slots) + "; give a power of two",
                   [=](WorldOptions& o) { o.fetch_slots = slots; });
  }
  expect_passes([](WorldOptions& o) { o.fetch_slots = 1; });
}
TEST(WorldSetup, SaysWhatChannelsThereMayBe) {
  expect_problem("channels is 65; give at most 64", [](WorldOptions& o) { o.channels = 65; });
  for (const std::uint32_t depth : {0u, 3u, 65536u}) {
    expect_problem("receive_depth is " + std::to_string(depth) + "; give a power of two",
                   [=](WorldOptions& o) { o.receive_depth = depth; });
  }
  expect_passes([](WorldOptions& o) { o.channels = o.receive_depth = 1; });
}
TEST(WorldSetup, SaysWhichQueuesGoTogether) {
  expect_problem("dc_queues is 2; give 0 where handler is commands", [](WorldOptions& o) {
    o.dc_queues = 2;
    o.handler = Handler::commands;
  });
  expect_problem("recordless is true; give false unless handler is gpu", [](WorldOptions& o) {
    o.recordless = true;
    o.handler = Handler::proxy;
  });
  for (const auto& pair : {std::pair(0u, 2u), std::pair(1u, 1u)}) {
    expect_problem("unconnected has PEs " + std::to_string(pair.first) + " and " +
                       std::to_string(pair.second) + "; give two PEs from 0 to 1",
                   [=](WorldOptions& o) { o.unconnected = {pair}; });
  }
  expect_passes([](WorldOptions& o) {
    o.dc_queues = 1;
    o.recordless = true;
    o.unconnected = {{0, 1}};
  });
}
TEST(WorldSetup, SaysHowLargeStacksMayBe) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
    expect_problem("stack_bytes is " + std::to_string(bytes) + "; give 16384 to 16777216",
                   [=](WorldOptions& o) { o.stack_bytes = bytes; });
  }
  expect_passes([](WorldOptions& o) { o.stack_bytes = 256 * 1024; });
}
TEST(WorldSetup, NamesTheOptionThatIsOutOfRange) {
  expect_problem("max_message_bytes is 0; ", [](WorldOptions& o) { o.max_message_bytes = 0; });
  expect_problem("bad_rkeys_of is 2; ", [](WorldOptions& o) { o.bad_rkeys_of = 2; });
  expect_problem("memory.history is 1; ", [](WorldOptions& o) { o.memory.history = 1; });
  expect_problem("memory.history is 33; ", [](WorldOptions& o) { o.memory.history = 33; });
}
TEST(WorldSetup, SaysHowMuchMemoryThereMayBe) {
  expect_problem("take more than 16 MiB", [](WorldOptions& o) { o.heap_bytes = 16 << 20; });
  expect_problem("take more than 16 MiB", [](WorldOptions& o) { o.heap_bytes = ~0ull; });
  expect_passes([](WorldOptions& o) { o.heap_bytes = 1 << 20; });
}

TEST(WorldSetup, HeapThatIsTooSmallNamesTheSizeThatSuffices) {
  const auto set_up = [](sim::World& world) {
    world.allocate<Word>("first", 100);
    world.allocate<Word>("second", 5000);
    launch_nothing(world);
  };
  expect_problem(
      "allocate \"second\" of 40000 bytes: the heap is full; set "
      "WorldOptions::heap_bytes, which is 4096, to at least 36864",
      {}, set_up);
  expect_passes([](WorldOptions& o) { o.heap_bytes = 36864; }, set_up);
}
TEST(WorldSetup, RefusesAnAllocationOfNothing) {
  expect_problem("allocate \"none\" of 0 bytes; ", {},
                 [](sim::World& world) { world.allocate<Word>("none", 0); });
}
TEST(WorldSetup, RefusesAnInitialValueOfWhatTheWorldDoesNotHave) {
  Word elsewhere = 0;
  expect_problem("set on PE 0; ", {}, [&](sim::World& world) {
    world.set(0, &elsewhere, 1);
    launch_nothing(world);
  });
  expect_problem("set on PE 2; ", {},
                 [](sim::World& world) { world.set(2, world.allocate<Word>("word", 1), 1); });
}

TEST(WorldSetup, RefusesALaunchOfNothing) {
  expect_problem("no kernel is launched; call launch", {}, [](sim::World&) {});
  for (const LaunchShape shape : {LaunchShape{0, 1}, LaunchShape{1, 0}, LaunchShape{1, 1025}}) {
    expect_problem("; give at least one block, of 1 to 1024 threads", {},
                   [=](sim::World& world) { world.launch(shape, Nothing{}); });
  }
}
TEST(WorldSetup, RefusesALaunchOnAPeThatIsNotThere) {
  expect_problem("a launch of 1 blocks of 1 threads on PE 2; there are PEs 0 to 1", {},
                 [](sim::World& world) {
                   world.launch_on(2, {1, 1}, Nothing{});
                 });
}
TEST(WorldSetup, RefusesMoreAgentsThanTheModelHas) {
  // Two NICs and the host are agents, too.
  expect_problem("at most 512 agents, and threads, NICs and the host already are 3", {},
                 [](sim::World& world) {
                   world.launch_on(0, {510, 1}, Nothing{});
                 });
  expect_passes({}, [](sim::World& world) { world.launch_on(0, {509, 1}, Nothing{}); });
  expect_problem("already are 403", {}, [](sim::World& world) {
    world.launch_on(0, {400, 1}, Nothing{});
    world.launch_on(1, {400, 1}, Nothing{});
  });
}
TEST(WorldSetup, TheFirstProblemIsTheOneThatIsTold) {
  expect_problem(
      "depth is 1; ", [](WorldOptions& o) { o.depth = 1; },
      [](sim::World& world) {
        world.launch_on(99, {0, 0}, Nothing{});
      });
}

// Each lane of the warp fetches.
struct Draw {
  Word* tickets;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.atomic_fetch_add(tickets, 1, 1);
  }
};
TEST(WorldSetup, RefusesAWarpWithMoreLanesThanFetchSlots) {
  const auto draw = [](sim::World& world) {
    world.launch_on(0, {.blocks = 1, .threads = 4}, Draw{world.allocate<Word>("tickets", 1)});
  };
  expect_problem("fetch_slots is 2; a warp of 4 lanes fetches at once", {}, draw);
  expect_passes([](WorldOptions& o) { o.fetch_slots = 4; }, draw);
}

}  // namespace
}  // namespace gdakit::users
