// Whether a world holds: 2,000 executions find nothing in it.
#pragma once

#include <gtest/gtest.h>

#include "sim/explore/explorer.h"
#include "sim/world/world.h"

namespace gdakit::sim {

// What is found must be a race, or an expectation that does not hold.
inline bool holds(World& world) {
  ExploreOptions options;
  options.schedules = 2000;
  options.shrink = false;
  const Exploration found = explore(world, options);
  EXPECT_EQ(world.problem(), "");
  if (found.passed()) return true;
  const FindingKind kind = found.failure->result.finding;
  EXPECT_TRUE(kind == FindingKind::race || kind == FindingKind::invariant) << finding_name(kind);
  return false;
}

}  // namespace gdakit::sim
