// The reliable connection on a bad network.
#include <cstring>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "backends/softnic/wire/faulty_wire.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

// All faults at once, in both directions: writes, atomics and READs come out exact.
TEST(FaultyTransport, RepairsAllFaults) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    RigOptions options;
    options.engine.adaptive_retransmission = seed % 2 != 0;
    options.engine.congestion_control = seed % 3 != 0;
    options.wire.mtu = 256;
    // At the least rate a READ response of 256 bytes takes 270 us.
    const std::uint8_t ack_timeout = options.engine.congestion_control ? 10 : 5;
    options.settings.ack_timeout = options.engine.adaptive_retransmission ? 14 : ack_timeout;
    std::uint64_t now_ns = 1000;
    options.wrap_wire = [&](std::unique_ptr<Wire> wire, int) -> std::unique_ptr<Wire> {
      const Faults faults = {.seed = seed,
                             .drop = 0.03,
                             .repeat = 0.03,
                             .reorder = 0.1,
                             .corrupt = 0.03,
                             .mark = 0.2,
                             .delay_max_ns = 20'000,
                             .down_every_ns = 2'000'000,
                             .down_for_ns = 100'000};
      return make_faulty(std::move(wire), faults, [&now_ns] { return now_ns; });
    };
    EngineRig rig(options);
    fill(rig.a.heap.data(), 3000, 5);
    for (std::uint64_t round = 1; round <= 30; ++round) {
      rig.a.post(write_wqe(rig, 10'000, 0, 3000));
      rig.a.post(fetch_add_wqe(rig, 4000, 8, 7));
      rig.a.post(read_wqe(rig, 20'000, 10'000, 3000));
      rig.a.ring();
      std::size_t completions = 0;
      ASSERT_TRUE(rig.run_until([&] {
        now_ns = rig.now_ns;
        for (const auto& cqe : rig.a.send_cq.poll_all()) {
          EXPECT_EQ(opcode_of(cqe), format::CqeOpcode::requester) << "seed " << seed;
          ++completions;
        }
        return completions == 3 || rig.a.info().state != QpState::rts;
      })) << "seed "
          << seed << " round " << round;
      ASSERT_EQ(completions, 3u) << "seed " << seed << " round " << round;
      EXPECT_EQ(rig.b.word<std::uint64_t>(8), 7 * round);
      EXPECT_EQ(rig.a.word<std::uint64_t>(4000), 7 * (round - 1));
      EXPECT_EQ(std::memcmp(rig.a.heap.data() + 20'000, rig.a.heap.data(), 3000), 0);
      std::memset(rig.a.heap.data() + 20'000, 0, 3000);
      std::memset(rig.b.heap.data() + 10'000, 0, 3000);
    }
    for (const Side* side : {&rig.a, &rig.b}) {
      const FaultCounters& counters = static_cast<FaultyWire&>(*side->wire).counters();
      EXPECT_TRUE(counters.dropped != 0 && counters.repeated != 0 && counters.reordered != 0 &&
                  counters.corrupted != 0 && counters.delayed != 0 && counters.cut != 0);
      EXPECT_EQ(counters.marked != 0, options.engine.congestion_control);
      EXPECT_EQ(side->engine.counters().np_cnp_sent != 0, options.engine.congestion_control);
    }
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
