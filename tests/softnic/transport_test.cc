// The reliable connection: sequence numbers, losses, retries, receiver not ready, exactly-once
// atomics.
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"
#include "tests/softnic/slow_dma.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;

TEST(Psn, CountsModulo2To24) {
  EXPECT_EQ(psn_add(0xffffff, 1), 0u);
  EXPECT_EQ(psn_distance(0, 0xffffff), 1);
  EXPECT_EQ(psn_distance(0xffffff, 0), -1);
  EXPECT_EQ(psn_distance(5, 5), 0);
  EXPECT_EQ(psn_distance(0x7fffff, 0), 0x7fffff);
  EXPECT_EQ(psn_distance(0x800000, 0), -0x800000);
}

TEST(Psn, WrapsInEveryOperation) {
  for (std::uint32_t before = 0; before < 40; before += 3) {
    RigOptions options;
    options.send_psn = psn_add(0, 0x1000000 - before);
    options.wire.mtu = 256;
    EngineRig rig(options);
    fill(rig.a.heap.data(), 3000, 5);
    rig.a.post(write_wqe(rig, 10'000, 0, 3000));
    rig.a.post(fetch_add_wqe(rig, 4000, 8, 7));
    rig.a.post(read_wqe(rig, 20'000, 10'000, 3000));
    rig.a.post(fetch_add_wqe(rig, 4008, 8, 7));
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    ASSERT_EQ(rig.a.send_cq.poll_all().size(), 4u);
    EXPECT_EQ(rig.b.word<std::uint64_t>(8), 14u);
    EXPECT_EQ(rig.a.word<std::uint64_t>(4008), 7u);
    EXPECT_EQ(std::memcmp(rig.a.heap.data() + 20'000, rig.a.heap.data(), 3000), 0);
    EXPECT_EQ(rig.a.info().next_send_psn, psn_add(options.send_psn, 26));
    EXPECT_EQ(rig.b.info().next_receive_psn, rig.a.info().next_send_psn);
    EXPECT_EQ(rig.a.info().last_acked_psn, psn_add(options.send_psn, 25));
  }
}

// Options for a wire that loses `losses` in both directions.
RigOptions lossy(const Losses& losses) {
  RigOptions options;
  options.wire.mtu = 256;
  options.settings.ack_timeout = 5;
  options.wrap_wire = [losses](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    Losses own = losses;
    own.seed = losses.seed * 2 + static_cast<std::uint32_t>(side);
    return std::make_unique<LossyWire>(std::move(wire), own);
  };
  return options;
}

// Every operation many times over; data and atomics must come out exact. The peer's heap is the
// model.
void exercise(EngineRig& rig, std::uint32_t seed) {
  constexpr int kRounds = 60;
  constexpr std::uint32_t kSize = 1500;
  std::uint64_t sum = 0;
  std::mt19937 random(seed);
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t at = 4096 + 2048 * (random() % 16);
    fill(rig.a.heap.data() + at, kSize, random());
    const std::uint64_t addend = random() % 1000;
    rig.a.post(write_wqe(rig, at, at, kSize));
    rig.a.post(fetch_add_wqe(rig, 0, 64, addend));
    rig.a.post(read_wqe(rig, 200'000, at, kSize));
    rig.b.post_receive({format::data(rig.b.heap_address(300'000), Be32{rig.b.key}, 700)});
    rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(at, 700)}});
    Wqe last = fetch_add_wqe(rig, 8, 72, 1);
    last.fence = format::FenceMode::fence;
    rig.a.post(last);
    rig.a.ring();
    std::size_t completions = 0;
    ASSERT_TRUE(rig.run_until([&] {
      for (const auto& cqe : rig.a.send_cq.poll_all()) {
        EXPECT_EQ(opcode_of(cqe), CqeOpcode::requester)
            << "round " << round << " syndrome " << static_cast<int>(syndrome_of(cqe));
        ++completions;
      }
      return completions == 5 || rig.a.info().state != QpState::rts;
    })) << "round "
        << round;
    ASSERT_EQ(completions, 5u) << "round " << round;
    ASSERT_EQ(rig.a.word<std::uint64_t>(0), sum);
    sum += addend;
    ASSERT_EQ(rig.b.word<std::uint64_t>(64), sum);
    ASSERT_EQ(rig.a.word<std::uint64_t>(8), static_cast<std::uint64_t>(round));
    ASSERT_EQ(std::memcmp(rig.b.heap.data() + at, rig.a.heap.data() + at, kSize), 0);
    ASSERT_EQ(std::memcmp(rig.a.heap.data() + 200'000, rig.a.heap.data() + at, kSize), 0);
    ASSERT_EQ(std::memcmp(rig.b.heap.data() + 300'000, rig.a.heap.data() + at, 700), 0);
    ASSERT_EQ(rig.b.receive_cq.poll_all().size(), 1u);
  }
}

class LossyTransport : public testing::TestWithParam<std::uint32_t> {};

TEST_P(LossyTransport, LosesNothingToDrops) {
  EngineRig rig(lossy({.seed = GetParam(), .drop_percent = 10}));
  exercise(rig, GetParam());
  EXPECT_GT(rig.a.engine.counters().retries, 0u);
}
TEST_P(LossyTransport, ExecutesRepeatedPacketsOnce) {
  EngineRig rig(lossy({.seed = GetParam(), .repeat_percent = 40}));
  exercise(rig, GetParam());
}
TEST_P(LossyTransport, PutsReorderedPacketsRight) {
  EngineRig rig(lossy({.seed = GetParam(), .delay_percent = 15}));
  exercise(rig, GetParam());
}
TEST_P(LossyTransport, StandsAllOfItTogether) {
  EngineRig rig(
      lossy({.seed = GetParam(), .drop_percent = 7, .repeat_percent = 10, .delay_percent = 7}));
  exercise(rig, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Seeds, LossyTransport, testing::Range(1u, 21u));

TEST(ReceiverNotReady, IsWaitedForAndThenServed) {
  EngineRig rig;
  fill(rig.a.heap.data(), 100, 3);
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 100)}});
  rig.a.post(write_wqe(rig, 1000, 0, 100));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_FALSE(rig.a.send_cq.poll());
  EXPECT_EQ(rig.b.heap.data()[1000], 0);  // in order: the WRITE must wait too
  EXPECT_GE(rig.b.engine.counters().naks, 1u);
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 100)});
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 2; }));
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 2u);
  EXPECT_EQ(rig.b.receive_cq.poll_all().size(), 1u);
  EXPECT_EQ(std::memcmp(rig.b.heap.data(), rig.a.heap.data(), 100), 0);
  EXPECT_EQ(std::memcmp(rig.b.heap.data() + 1000, rig.a.heap.data(), 100), 0);
}

TEST(ReceiverNotReady, IsWaitedForThoughALaterWqeHasFailed) {
  EngineRig rig;
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 8)}});
  Wqe bad = write_wqe(rig, 0, 0, 8);
  bad.opmod = 1;
  rig.a.post(bad);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_FALSE(rig.a.send_cq.poll());
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 8)});
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().state == QpState::err; }));
  const auto cqes = rig.a.send_cq.poll_all();
  ASSERT_EQ(cqes.size(), 2u);
  EXPECT_EQ(opcode_of(cqes[0]), CqeOpcode::requester);
  EXPECT_EQ(syndrome_of(cqes[1]), Syndrome::local_qp_operation);
}

TEST(ReceiverNotReady, WaitsAsLongAsTheTimerCodeSays) {
  RigOptions options;
  options.settings.min_rnr_nak = 14;  // 1280 us
  EngineRig rig(options);
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 8)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const auto timer = rig.a.engine.next_timer_ns();
  ASSERT_TRUE(timer);
  EXPECT_GT(*timer, 1'280'000u);
  EXPECT_LT(*timer, 1'280'000u + 100'000u);
}

// b's receive queue takes its time, and with it a's SEND; what a answers to b is not behind it.
TEST(Reception, GoesOnBehindARequestThatCannotBeTaken) {
  SlowDma* dma = nullptr;
  RigOptions options;
  options.make_port = [&dma](int side) {
    auto port = std::make_unique<SlowDma>();
    if (side == 1) dma = port.get();
    return port;
  };
  EngineRig rig(options);
  ASSERT_TRUE(rig.run());
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 8)});
  dma->slow = host_address(rig.b.rq.data());
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 8)}});
  rig.a.post(write_wqe(rig, 64, 0, 8));
  rig.a.ring();
  for (int i = 0; i < 100 && !dma->under_way; ++i) rig.step();
  ASSERT_TRUE(dma->under_way);
  rig.b.post({.opcode = Opcode::rdma_read, .body = {rig.a.remote(0), rig.b.data(128, 8)}});
  rig.b.ring();
  for (int i = 0; i < 200; ++i) rig.step();
  EXPECT_EQ(rig.b.info().send_completed, 1u);
  EXPECT_EQ(rig.a.info().send_completed, 0u) << "the WRITE has overtaken the SEND";
  dma->under_way = false;
  dma->slow.reset();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_completed, 2u);
  EXPECT_EQ(rig.a.engine.counters().retries, 0u);
}

TEST(ReceiverNotReady, IsGivenUpAfterRnrRetry) {
  RigOptions options;
  options.settings.rnr_retry = 2;
  EngineRig rig(options);
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 8)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().state == QpState::err; }));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::rnr_retry_exceeded);
  EXPECT_EQ(rig.b.engine.counters().naks, 3u);
}

TEST(ReceiverNotReady, IsCountedOnceHoweverOftenTheWireRepeatsIt) {
  RigOptions options;
  options.settings.rnr_retry = 1;
  options.wrap_wire = [](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    return std::make_unique<LossyWire>(std::move(wire),
                                       Losses{.repeat_percent = side == 1 ? 100 : 0});
  };
  EngineRig rig(options);
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 8)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  ASSERT_EQ(rig.b.engine.counters().naks, 1u);
  EXPECT_EQ(rig.a.info().state, QpState::rts);
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 8)});
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 1; }));
  EXPECT_EQ(rig.a.info().state, QpState::rts);
}

TEST(ReceiverNotReady, IsNeverGivenUpWithRnrRetry7) {
  EngineRig rig;
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 8)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.b.engine.counters().naks == 50; }));
  EXPECT_EQ(rig.a.info().state, QpState::rts);
}

TEST(ReceiverNotReady, HoldsOnlyTheLastPacketOfAnImmediateWrite) {
  RigOptions options;
  options.wire.mtu = 256;
  EngineRig rig(options);
  fill(rig.a.heap.data(), 1000, 3);
  Wqe wqe = write_wqe(rig, 0, 0, 1000);
  wqe.opcode = Opcode::rdma_write_imm;
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_FALSE(rig.a.send_cq.poll());
  rig.b.post_receive({});
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 1; }));
  const auto cqe = rig.b.receive_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->byte_cnt, 1000u);
  EXPECT_EQ(std::memcmp(rig.b.heap.data(), rig.a.heap.data(), 1000), 0);
}

// Memory that has come within the peer's reach meanwhile is named by a longer packet than before.
TEST(RequestSequence, APacketWithOldAndNewBytesIsAskedForAgainFromTheNewOnesOn) {
  constexpr std::uint32_t kWhole = 256;
  RigOptions options;
  options.settings.path.mtu = kWhole;
  EngineRig rig(options);
  fill(rig.a.heap.data(), 2 * kWhole, 3);
  Packet packet;
  packet.header.opcode = PacketOpcode::write_first;
  packet.header.destination = rig.b.wire->endpoint();
  packet.header.destination_qpn = rig.b.qpn;
  packet.header.reth = {rig.b.heap_address(0), rig.b.key, 1000};
  packet.header.payload_size = kWhole;
  packet.payload = rig.a.heap.data();
  const auto send = [&] {
    ASSERT_TRUE(rig.a.wire->send(packet));
    rig.a.wire->flush();
    for (int i = 0; i < 10; ++i) rig.b.engine.step(++rig.now_ns);
  };
  send();
  EXPECT_EQ(rig.a.wire->receive(), nullptr) << "it asks for nothing";
  packet.header.payload_size = 2 * kWhole;
  packet.header.psns = 2;
  packet.header.fragment_count = 1;
  packet.fragments[0] = {host_address(rig.a.heap.data()), 2 * kWhole, rig.a.key};
  send();
  const Packet* const answer = rig.a.wire->receive();
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->header.aeth.acknowledge, Acknowledge::nak_sequence);
  EXPECT_EQ(answer->header.psn, 1u);
}

TEST(RequestSequence, PacketsOutOfTheirMessageAreRefused) {
  const auto refused = [](PacketOpcode opcode, bool begin, std::optional<std::uint32_t> size = {}) {
    constexpr std::uint32_t kWhole = 256;
    RigOptions options;
    options.wire.mtu = kWhole;
    EngineRig rig(options);
    Packet packet;
    packet.header.destination = rig.b.wire->endpoint();
    packet.header.destination_qpn = rig.b.qpn;
    packet.header.reth = {rig.b.heap_address(0), rig.b.key, 1000};
    // A message's last packet alone may be shorter than a PSN.
    const std::uint8_t bytes[kWhole] = {1, 2, 3, 4};
    packet.payload = bytes;
    std::uint32_t psn = 0;
    if (begin) {
      packet.header.opcode = PacketOpcode::write_first;
      packet.header.payload_size = kWhole;
      packet.header.psn = psn++;
      EXPECT_TRUE(rig.a.wire->send(packet));
    }
    packet.header.opcode = opcode;
    packet.header.payload_size = size.value_or(ends_message(opcode) ? 4 : kWhole);
    packet.header.psn = psn;
    EXPECT_TRUE(rig.a.wire->send(packet));
    rig.a.wire->flush();
    EXPECT_TRUE(rig.run());
    return rig.b.info().first_error.syndrome == Syndrome::remote_invalid_request;
  };
  EXPECT_TRUE(refused(PacketOpcode::write_middle, false));
  EXPECT_TRUE(refused(PacketOpcode::write_last, false));
  EXPECT_TRUE(refused(PacketOpcode::send_middle, false));
  EXPECT_TRUE(refused(PacketOpcode::send_last, false));
  EXPECT_TRUE(refused(PacketOpcode::write_only, false));  // shorter than its RETH says
  EXPECT_TRUE(refused(PacketOpcode::write_first, true));
  EXPECT_TRUE(refused(PacketOpcode::write_last, true));  // too short
  EXPECT_TRUE(refused(PacketOpcode::write_middle, true, 0));
  EXPECT_TRUE(refused(PacketOpcode::write_middle, true, 100));
  EXPECT_FALSE(refused(PacketOpcode::write_middle, true));
  EXPECT_TRUE(refused(PacketOpcode::send_middle, true));
  EXPECT_TRUE(refused(PacketOpcode::read_request, true));
  EXPECT_TRUE(refused(PacketOpcode::atomic_request, true));
  EXPECT_FALSE(refused(PacketOpcode::write_first, false));
  EXPECT_FALSE(refused(PacketOpcode::write_middle, true));
}

}  // namespace
}  // namespace gdakit::softnic::test
