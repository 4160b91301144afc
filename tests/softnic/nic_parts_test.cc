#include "backends/softnic/nic_parts.h"

#include <gtest/gtest.h>

#include "core/host/memory/host_memory.h"

namespace gdakit::softnic {
namespace {

EngineOptions engine_of(const Options& options, const std::optional<PortShare>& port) {
  HostMemoryProvider memory;
  Result<NicParts> parts = make_nic_parts(options, memory, nullptr, port);
  EXPECT_TRUE(parts && parts->port != nullptr);
  return parts->options.engine;
}

TEST(NicParts, WhatPacketsNameIsDrawnBetweenHostsOnly) {
  const EngineOptions one = engine_of({}, PortShare());
  const EngineOptions two = engine_of({}, PortShare());
  // Each pair alone is the same once in eight million times.
  EXPECT_FALSE(one.skipped_qps == two.skipped_qps && one.skipped_keys == two.skipped_keys);
  EXPECT_LT(one.skipped_qps, 1u << 23);
  EXPECT_LT(one.skipped_keys, 1u << 23);
  const EngineOptions near = engine_of({}, std::nullopt);
  EXPECT_EQ(near.skipped_qps, 0u);
  EXPECT_EQ(near.skipped_keys, 0u);
  EXPECT_EQ(near.first_key_variant, 1u);
}

TEST(NicParts, OfASharedPortTheQueuePairsNumbersAreItsOwn) {
  for (const std::uint32_t nics : {2u, 3u, 64u}) {
    for (std::uint32_t index = 0; index < nics; ++index) {
      const PortShare share = PortShare::of(index, nics);
      const EngineOptions engine = engine_of({}, share);
      const std::uint32_t first = kind_row(ObjectKind::qp).first + engine.skipped_qps;
      EXPECT_GE(first, share.first_qpn());
      EXPECT_LE(first + engine.max_qps, share.first_qpn() + share.qpns());
      EXPECT_LE(first + engine.max_qps, kind_row(ObjectKind::qp).limit);
      EXPECT_GE(engine.max_qps, share.qpns() / 2 - 2);
    }
  }
}

// Its keys, CQs and the rest are told apart by the NIC, and not by the port.
TEST(NicParts, OfASharedPortNothingButQueuePairsIsFewer) {
  const EngineOptions alone = engine_of({}, std::nullopt);
  const EngineOptions shared = engine_of({}, PortShare::of(1, 64));
  EXPECT_LT(shared.max_qps, alone.max_qps);
  EXPECT_EQ(shared.max_objects, alone.max_objects);
}

TEST(NicParts, WhereNothingGetsLostNothingIsMadeForLoss) {
  const EngineOptions near = engine_of({}, std::nullopt);
  EXPECT_FALSE(near.adaptive_retransmission || near.selective_repeat || near.congestion_control);
  const EngineOptions far = engine_of({}, PortShare());
  EXPECT_TRUE(far.adaptive_retransmission && far.selective_repeat);
  EXPECT_FALSE(far.congestion_control);
}

TEST(NicParts, OptionsTurnRepairAndCongestionControlOn) {
  Options options;
  options.nic_faults = "drop=1%";
  options.nic_congestion = true;
  const EngineOptions near = engine_of(options, std::nullopt);
  EXPECT_TRUE(near.adaptive_retransmission && near.selective_repeat && near.congestion_control);
}

}  // namespace
}  // namespace gdakit::softnic
