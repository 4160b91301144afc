// Requests that come before one that is missing: kept, executed in order, and not sent again.
#include "backends/softnic/transport/early_packets.h"

#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/wire/faulty_wire.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

Packet write_packet(std::uint32_t psn, const std::vector<std::uint8_t>& payload) {
  Packet packet;
  packet.header.opcode = PacketOpcode::write_middle;
  packet.header.psn = psn;
  packet.header.payload_size = static_cast<std::uint32_t>(payload.size());
  packet.payload = payload.data();
  return packet;
}

TEST(EarlyPackets, AreCopies) {
  EarlyPackets early;
  std::vector<std::uint8_t> payload = {1, 2, 3};
  early.keep(write_packet(7, payload));
  payload.assign(3, 0);
  ASSERT_NE(early.find(7), nullptr);
  EXPECT_EQ(early.find(7)->payload, (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_EQ(early.find(7)->packet.payload, early.find(7)->payload.data());
  EXPECT_EQ(early.find(8), nullptr);
}

TEST(EarlyPackets, AreKeptOnceAndWithinABound) {
  EarlyPackets early;
  for (int again = 0; again < 2; ++again) {
    for (std::uint32_t psn = 1; psn <= EarlyPackets::kMost + 5; ++psn) {
      early.keep(write_packet(psn, {1}));
    }
  }
  EXPECT_NE(early.find(EarlyPackets::kMost), nullptr);
  EXPECT_EQ(early.find(EarlyPackets::kMost + 1), nullptr);
  early.drop_settled(2, [](DmaOp) { return true; });
  early.keep(write_packet(EarlyPackets::kMost + 1, {1}));
  EXPECT_NE(early.find(EarlyPackets::kMost + 1), nullptr);
}

TEST(EarlyPackets, ByReferenceAreNotKept) {
  EarlyPackets early;
  Packet packet = write_packet(7, {1});
  packet.header.fragment_count = 1;
  early.keep(packet);
  EXPECT_TRUE(early.empty());
}

TEST(EarlyPackets, StayUntilTheirDmaIsDone) {
  EarlyPackets early;
  early.keep(write_packet(7, {1}));
  early.executed(7);
  early.clear();
  early.drop_settled(9, [](DmaOp) { return false; });
  EXPECT_FALSE(early.empty());
  EXPECT_EQ(early.find(7), nullptr);
  early.drop_settled(9, [](DmaOp) { return true; });
  EXPECT_TRUE(early.empty());
}

TEST(EarlyPackets, OlderThanWhatIsExpectedAreDroppedAcrossTheWrap) {
  EarlyPackets early;
  early.keep(write_packet(kPsnMask, {1}));
  early.keep(write_packet(1, {1}));
  early.drop_settled(kPsnMask, [](DmaOp) { return true; });
  EXPECT_NE(early.find(kPsnMask), nullptr);
  early.drop_settled(0, [](DmaOp) { return true; });
  EXPECT_EQ(early.find(kPsnMask), nullptr);
  EXPECT_NE(early.find(1), nullptr);
}

// Side 0 loses what `drop` says, in packets of 256 bytes by value; both sides repeat selectively.
struct Selective {
  explicit Selective(std::function<bool(const Packet&)> drop, bool by_value = true) {
    RigOptions options;
    options.engine.adaptive_retransmission = options.engine.selective_repeat = true;
    options.wire.mtu = 256;
    options.settings.ack_timeout = 14;
    options.wrap_wire = [&](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
      Losses losses{.by_value = by_value, .psn_window = 64};
      if (side == 0) losses.drop = drop;
      auto lossy = std::make_unique<LossyWire>(std::move(wire), losses);
      if (side == 0) sent = &lossy->sent;
      return lossy;
    };
    rig = std::make_unique<EngineRig>(options);
    fill(rig->a.heap.data(), 60'000, 3);
  }

  const std::uint64_t* sent = nullptr;
  std::unique_ptr<EngineRig> rig;
};

struct Repaired {
  std::uint64_t repeated;  // packets
  std::uint64_t naks;
};

// A WRITE of 20 packets, then 3 of one each; those are lost the first time that `is_lost` names.
Repaired repaired(const std::function<bool(std::uint32_t psn)>& is_lost, bool by_value = true) {
  std::set<std::uint32_t> lost;
  Selective selective(
      [&](const Packet& packet) {
        const std::uint32_t psn = packet.header.psn;
        return is_lost(psn) && lost.insert(psn).second;
      },
      by_value);
  EngineRig& rig = *selective.rig;
  rig.a.post(write_wqe(rig, 0, 0, 20 * 256));
  for (std::uint32_t i = 20; i < 23; ++i) rig.a.post(write_wqe(rig, i * 256, i * 256, 256));
  rig.a.ring();
  EXPECT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 4; }));
  EXPECT_EQ(std::memcmp(rig.b.heap.data(), rig.a.heap.data(), 23 * 256), 0);
  return {*selective.sent - 23, rig.b.engine.counters().naks};
}

TEST(SelectiveRepeat, SendsNothingTwiceThatHasArrived) {
  EXPECT_EQ(repaired([](std::uint32_t) { return false; }).repeated, 0u);
  for (std::uint32_t missing = 0; missing < 22; ++missing) {
    EXPECT_EQ(repaired([&](std::uint32_t psn) { return psn == missing; }).repeated, 1u) << missing;
  }
}

TEST(SelectiveRepeat, IsToldOfEachGap) {
  EXPECT_EQ(repaired([](std::uint32_t psn) { return psn == 2 || psn == 9; }).repeated, 2u);
  EXPECT_EQ(repaired([](std::uint32_t psn) { return psn == 2 || psn == 3; }).repeated, 3u);
  EXPECT_EQ(repaired([](std::uint32_t psn) { return psn % 4 == 1; }).repeated, 6u);
}

// Each time twice as many are sent again.
TEST(SelectiveRepeat, OfARowOfLossesTakesFewRoundTrips) {
  const Repaired row = repaired([](std::uint32_t psn) { return psn >= 3 && psn < 19; });
  EXPECT_LE(row.naks, 5u);
  EXPECT_LE(row.repeated, 16u + 8u);
}

// What is told of is what is missing, not what waits for its turn.
TEST(SelectiveRepeat, TellsOfEachGapOnce) {
  EXPECT_EQ(repaired([](std::uint32_t psn) { return psn == 5; }).naks, 1u);
  EXPECT_EQ(repaired([](std::uint32_t psn) { return psn == 5 || psn == 9; }).naks, 2u);
}

// The packet with one PSN is overtaken by the next.
class Overtaken final : public Fates {
 public:
  explicit Overtaken(std::uint32_t psn) : psn_(psn) {}
  Fate fate(const Packet& packet) override {
    return {.behind = packet.header.psn == psn_ ? 1u : 0u};
  }

 private:
  std::uint32_t psn_;
};

TEST(SelectiveRepeat, OfWhatIsOnlyOvertakenThereIsNone) {
  RigOptions options;
  options.engine.adaptive_retransmission = options.engine.selective_repeat = true;
  options.wire.mtu = 256;
  options.wrap_wire = [](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    if (side == 0)
      wire = std::make_unique<FaultyWire>(std::move(wire), std::make_unique<Overtaken>(5));
    return std::make_unique<LossyWire>(std::move(wire), Losses{.by_value = true, .psn_window = 64});
  };
  EngineRig rig(options);
  fill(rig.a.heap.data(), 20 * 256, 3);
  rig.a.post(write_wqe(rig, 0, 0, 20 * 256));
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 1; }));
  EXPECT_EQ(std::memcmp(rig.b.heap.data(), rig.a.heap.data(), 20 * 256), 0);
  EXPECT_EQ(rig.b.engine.counters().naks, 0u);
  EXPECT_EQ(rig.a.engine.counters().packets_sent, 20u);
}

TEST(SelectiveRepeat, OfTheTailIsATimersWork) {
  EXPECT_EQ(repaired([](std::uint32_t psn) { return psn == 22; }).repeated, 1u);
}

TEST(SelectiveRepeat, OfPacketsByReferenceGoesBack) {
  EXPECT_GT(repaired([](std::uint32_t psn) { return psn == 0; }, false).repeated, 1u);
}

TEST(SelectiveRepeat, OfARepetitionThatIsLostTooIsATimersWork) {
  int lost = 0;
  Selective selective([&](const Packet& packet) { return packet.header.psn == 5 && lost++ < 3; });
  EngineRig& rig = *selective.rig;
  rig.a.post(write_wqe(rig, 0, 0, 20 * 256));
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 1; }));
  EXPECT_EQ(std::memcmp(rig.b.heap.data(), rig.a.heap.data(), 20 * 256), 0);
}

TEST(SelectiveRepeat, ExecutesEveryKindOnceAndInOrder) {
  for (std::uint32_t missing = 0; missing < 8; ++missing) {
    int lost = 0;
    Selective selective(
        [&](const Packet& packet) { return packet.header.psn == missing && lost++ == 0; });
    EngineRig& rig = *selective.rig;
    rig.b.post_receive({format::data(rig.b.heap_address(50'000), Be32{rig.b.key}, 5000)});
    rig.a.post(write_wqe(rig, 0, 0, 600));              // 0, 1, 2
    rig.a.post(fetch_add_wqe(rig, 40'000, 30'000, 5));  // 3
    rig.a.post(read_wqe(rig, 41'000, 0, 8));            // 4
    rig.a.post({.opcode = format::Opcode::send_imm, .imm = 9, .body = {rig.a.data(0, 300)}});
    rig.a.post(fetch_add_wqe(rig, 40'008, 30'000, 5));  // 7
    rig.a.ring();
    ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 5; })) << missing;
    EXPECT_EQ(std::memcmp(rig.b.heap.data(), rig.a.heap.data(), 600), 0) << missing;
    EXPECT_EQ(rig.b.word<std::uint64_t>(30'000), 10u) << missing;
    EXPECT_EQ(rig.a.word<std::uint64_t>(40'008), 5u) << missing;
    EXPECT_EQ(std::memcmp(rig.b.heap.data() + 50'000, rig.a.heap.data(), 300), 0) << missing;
    EXPECT_EQ(rig.b.receive_cq.poll_all().size(), 1u) << missing;
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
