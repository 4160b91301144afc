#include "backends/softnic/nic_parts.h"

#include <gtest/gtest.h>

#include "core/host/memory/host_memory.h"

namespace gdakit::softnic {
namespace {

EngineOptions engine_of(const Options& options, bool between_hosts) {
  HostMemoryProvider memory;
  Result<NicParts> parts = make_nic_parts(options, memory, nullptr, between_hosts);
  EXPECT_TRUE(parts && parts->port != nullptr);
  return parts->options.engine;
}

TEST(NicParts, WhatPacketsNameIsDrawnBetweenHostsOnly) {
  const EngineOptions one = engine_of({}, true);
  const EngineOptions two = engine_of({}, true);
  // Each pair alone is the same once in eight million times.
  EXPECT_FALSE(one.skipped_qps == two.skipped_qps && one.skipped_keys == two.skipped_keys);
  EXPECT_LT(one.skipped_qps, kMostSkipped);
  EXPECT_LT(one.skipped_keys, kMostSkipped);
  const EngineOptions near = engine_of({}, false);
  EXPECT_EQ(near.skipped_qps, 0u);
  EXPECT_EQ(near.skipped_keys, 0u);
  EXPECT_EQ(near.first_key_variant, 1u);
}

TEST(NicParts, WhereNothingGetsLostNothingIsMadeForLoss) {
  const EngineOptions near = engine_of({}, false);
  EXPECT_FALSE(near.adaptive_retransmission || near.selective_repeat || near.congestion_control);
  const EngineOptions far = engine_of({}, true);
  EXPECT_TRUE(far.adaptive_retransmission && far.selective_repeat);
  EXPECT_FALSE(far.congestion_control);
}

TEST(NicParts, OptionsTurnRepairAndCongestionControlOn) {
  Options options;
  options.nic_faults = "drop=1%";
  options.nic_congestion = true;
  const EngineOptions near = engine_of(options, false);
  EXPECT_TRUE(near.adaptive_retransmission && near.selective_repeat && near.congestion_control);
}

}  // namespace
}  // namespace gdakit::softnic
