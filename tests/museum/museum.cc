#include "tests/museum/museum.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "sim/explore/explorer.h"

namespace gdakit::museum {
namespace {

std::string test_name() { return ::testing::UnitTest::GetInstance()->current_test_info()->name(); }

void expect_clean(const char* who, const sim::WorldOptions& options, const Scene& scene,
                  std::uint64_t executions) {
  sim::World world(test_name(), options);
  scene(world);
  sim::ExploreOptions explore_options;
  explore_options.schedules = executions;
  const sim::Exploration found = explore(world, explore_options);
  EXPECT_TRUE(found.passed() && found.executions == executions) << who << ": " << found.report();
}

}  // namespace

void expect_found(Kinds kinds, const sim::WorldOptions& options, const Scene& scene) {
  sim::World world(test_name(), options);
  scene(world);
  sim::ExploreOptions explore_options;
  explore_options.schedules = kFindWithin;
  explore_options.shrink = false;
  const sim::Exploration found = explore(world, explore_options);
  ASSERT_FALSE(found.passed()) << "not found: " << found.summary();
  const sim::Failure& failure = *found.failure;
  const auto as_told = std::count(kinds.begin(), kinds.end(), failure.result.finding);
  EXPECT_EQ(as_told, 1) << "found, but not as told: " << found.report();
  EXPECT_EQ(failure.nondeterminism, "") << found.report();
  ::testing::Test::RecordProperty("finding", finding_name(failure.result.finding));
  ::testing::Test::RecordProperty("text", failure.result.text);
  ::testing::Test::RecordProperty("first_execution", std::to_string(failure.execution + 1));
}

void expect_passes(const sim::WorldOptions& options, const Scene& mini, const Scene& shipped) {
  expect_clean("the mini protocol", options, mini, kFindWithin);
  expect_clean("the shipped protocol", options, shipped, kPass);
}

QueuePlace add_words(sim::World& world) {
  QueuePlace place;
  const auto count = static_cast<std::uint32_t>(world.queue_count());
  place.words = world.allocate<Words>("mini words", count, sim::RegionKind::other);
  if (world.options().start_index == 0) return place;
  for (std::uint32_t pe = 0; pe < world.options().pes; ++pe) {
    for (std::uint32_t i = 0; i < count; ++i) {
      world.set(pe, &place.words[i], {world.options().start_index, 0});
    }
  }
  return place;
}

}  // namespace gdakit::museum
