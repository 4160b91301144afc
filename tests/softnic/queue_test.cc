// A send queue as a whole: wrapping, depth, full wires, fences, limits, counters.
#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;

bool same(const Side& x, std::size_t at_x, const Side& y, std::size_t at_y, std::size_t size) {
  return std::memcmp(x.heap.data() + at_x, y.heap.data() + at_y, size) == 0;
}

TEST(Queue, WrapsItsIndicesManyTimes) {
  RigOptions options;
  options.log_sq = 4;
  options.log_cq = 6;
  options.wire.slots = 32;
  EngineRig rig(options);
  std::uint64_t completions = 0;
  // More than 70000 WQEs on 16 slots, of one and of two WQEBBs.
  for (std::uint64_t round = 0; round < 9000; ++round) {
    for (std::uint64_t i = 0; i < 8; ++i) {
      rig.a.word<std::uint64_t>(i * 8) = round * 8 + i;
      Wqe wqe = write_wqe(rig, i * 8, i * 8, 8);
      if (i % 4 == 3) wqe = inline_write_wqe(rig, 4096, std::vector<std::uint8_t>(30));
      rig.a.post(wqe);
    }
    rig.a.ring();
    for (int steps = 0; completions != (round + 1) * 8; ++steps) {
      ASSERT_LT(steps, 1000);
      rig.step();
      for (const auto& cqe : rig.a.send_cq.poll_all()) {
        ASSERT_EQ(opcode_of(cqe), CqeOpcode::requester);
        ++completions;
      }
    }
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_EQ(rig.b.word<std::uint64_t>(i * 8), round * 8 + i);
    }
  }
  EXPECT_EQ(rig.a.engine.counters().wqes, 72'000u);
}

TEST(Queue, OfFullDepthCompletesAllAtOnce) {
  RigOptions options;
  options.log_sq = 15;
  options.log_cq = 15;
  EngineRig rig(options);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < 32768; ++i) rig.a.post(fetch_add_wqe(rig, 0, 8, 1));
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.a.send_cq.poll_all().size(), 32768u);
  }
  EXPECT_EQ(rig.b.word<std::uint64_t>(8), 3 * 32768u);
}

// Without a doorbell, the record alone tells of a WQE. Every queue pair's turn comes, soon.
TEST(Queue, IsSweptAmongQueuePairsOfAnyState) {
  EngineRig rig;
  Engine& engine = rig.a.engine;
  QpAttributes idle;
  idle.pd = rig.a.pd;
  idle.send_cq = rig.a.send_cqn;
  idle.uar = rig.a.uar;
  idle.send_queue = host_address(rig.b.sq.data());
  idle.log_send_wqebbs = 6;
  idle.doorbell_record = host_address(rig.b.record.data());
  for (int i = 0; i < 400; ++i) {
    const QpNumber qpn = *engine.create_qp(idle);
    QpModify modify;
    for (const QpState state : {QpState::init, QpState::rtr, QpState::rts}) {
      if (i % 4 == 0 && state != QpState::init) break;
      if (i % 4 == 1 && state == QpState::rts) break;
      modify.state = state;
      ASSERT_TRUE(engine.modify_qp(qpn, modify));
    }
    if (i % 8 == 7) {
      ASSERT_TRUE(engine.destroy_qp(qpn));
    }
  }
  ASSERT_TRUE(rig.run());
  for (std::uint64_t n = 1; n <= 5; ++n) {
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.store_record();
    const std::uint64_t sweeps = 300 / rig.a.options.engine.sweep_queues;
    EXPECT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == n; },
                              (sweeps + 5) * rig.a.options.engine.sweep_idle_steps));
  }
}

TEST(Queue, FullWireRingsLoseNothing) {
  RigOptions options;
  options.wire.slots = 2;
  options.wire.mtu = 256;
  EngineRig rig(options);
  fill(rig.a.heap.data(), 100'000, 15);
  fill(rig.b.heap.data() + 200'000, 100'000, 16);
  rig.a.post(write_wqe(rig, 0, 0, 100'000));
  rig.a.post(read_wqe(rig, 200'000, 200'000, 100'000));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 2u);
  EXPECT_TRUE(same(rig.b, 0, rig.a, 0, 100'000));
  EXPECT_TRUE(same(rig.a, 200'000, rig.b, 200'000, 100'000));
  EXPECT_EQ(rig.a.engine.counters().retries, 0u);
}

TEST(Queue, AResponderWithoutRoomToAnswerStillTakesPackets) {
  // Two NICs that each wait for the other to take packets would wait for ever.
  bool full = true;
  RigOptions options;
  options.log_sq = 10;
  options.log_rq = 10;
  options.wrap_wire = [&full](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    if (side == 0) return wire;
    return std::make_unique<LossyWire>(std::move(wire), Losses{.full = [&full] { return full; }});
  };
  EngineRig rig(options);
  for (int i = 0; i < 200; ++i) {
    if (i % 20 == 0) rig.a.post(read_wqe(rig, 4096, 0, 64));
    rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 8)}});
    rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 8)});
  }
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.b.engine.counters().packets_received, 210u);
  full = false;
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 210; }));
  for (const auto& cqe : rig.a.send_cq.poll_all()) EXPECT_EQ(opcode_of(cqe), CqeOpcode::requester);
  EXPECT_EQ(rig.b.receive_cq.poll_all().size(), 200u);
}

TEST(Queue, BothDirectionsShareTheWire) {
  EngineRig rig;
  for (int i = 0; i < 60; ++i) {
    rig.a.post(fetch_add_wqe(rig, 0, 8, 1));
    Wqe back{.opcode = Opcode::atomic_fa,
             .body = {rig.a.remote(16), format::to_segment(format::AtomicSegment{Be64{1}, Be64{0}}),
                      rig.b.data(0, 8)}};
    rig.b.post(back);
  }
  rig.a.ring();
  rig.b.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.b.word<std::uint64_t>(8), 60u);
  EXPECT_EQ(rig.a.word<std::uint64_t>(16), 60u);
  EXPECT_EQ(rig.a.word<std::uint64_t>(0), 59u);
}

TEST(Loopback, AQueuePairMayTalkToItsOwnNic) {
  EngineRig rig;
  QpModify reset;
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, reset));
  QpModify limits;
  limits.access = Access::all;
  EngineRig::connect(rig.a, rig.a, limits, 5, 5);
  Wqe wqe{.opcode = Opcode::rdma_write, .body = {rig.a.remote(512), rig.a.data(0, 256)}};
  fill(rig.a.heap.data(), 256, 21);
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(opcode_of(rig.a.send_cq.poll().value()), CqeOpcode::requester);
  EXPECT_TRUE(same(rig.a, 512, rig.a, 0, 256));
}

TEST(Fence, HoldsAWqeUntilEarlierReadsAreComplete) {
  // The WRITE sends what the READ before it has fetched.
  for (const auto mode :
       {format::FenceMode::fence, format::FenceMode::fence_and_small, format::FenceMode::strong}) {
    EngineRig rig;
    rig.b.word<std::uint64_t>(0) = 4711;
    rig.a.post(read_wqe(rig, 0, 0, 8));
    Wqe forward = write_wqe(rig, 64, 0, 8);
    forward.fence = mode;
    rig.a.post(forward);
    rig.a.ring();
    // One step of a sends the READ; without a fence the WRITE would go along.
    rig.a.engine.step(++rig.now_ns);
    EXPECT_EQ(rig.a.info().send_started, 1u);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.a.send_cq.poll_all().size(), 2u);
    EXPECT_EQ(rig.b.word<std::uint64_t>(64), 4711u);
  }
}

TEST(Fence, StrongOrderWaitsForWritesTooAndOthersDoNot) {
  EngineRig rig;
  rig.a.post(write_wqe(rig, 0, 0, 8));
  Wqe fenced = write_wqe(rig, 8, 0, 8);
  fenced.fence = format::FenceMode::fence;
  rig.a.post(fenced);
  Wqe strong = write_wqe(rig, 16, 0, 8);
  strong.fence = format::FenceMode::strong;
  rig.a.post(strong);
  rig.a.ring();
  rig.a.engine.step(++rig.now_ns);
  EXPECT_EQ(rig.a.info().send_started, 2u);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 3u);
}

TEST(ReadLimit, NoMoreReadsAndAtomicsAreOutstandingThanAgreed) {
  RigOptions options;
  options.settings.log_sra_max = 1;
  options.settings.log_rra_max = 1;
  EngineRig rig(options);
  for (int i = 0; i < 9; ++i) rig.a.post(fetch_add_wqe(rig, 0, 8, 1));
  rig.a.ring();
  rig.a.engine.step(++rig.now_ns);
  EXPECT_EQ(rig.a.info().send_started, 2u);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 9u);
  EXPECT_EQ(rig.b.word<std::uint64_t>(8), 9u);
}

TEST(ReadLimit, AResponderRefusesMoreThanItAgreedTo) {
  RigOptions options;
  options.settings.log_sra_max = 3;
  options.settings.log_rra_max = 0;
  // Responses are stuck, so that READs pile up at b.
  options.wire.slots = 8;
  EngineRig rig(options);
  for (int i = 0; i < 8; ++i) rig.a.post(read_wqe(rig, 0, 0, 1 << 19));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.a.send_cq.poll_all();
  ASSERT_FALSE(cqes.empty());
  bool refused = false;
  for (const auto& cqe : cqes) {
    refused |= opcode_of(cqe) == CqeOpcode::requester_error &&
               syndrome_of(cqe) == format::Syndrome::remote_invalid_request;
  }
  EXPECT_TRUE(refused);
}

TEST(Counters, CountWhatWasMoved) {
  EngineRig rig;
  rig.a.post(write_wqe(rig, 0, 0, 1000));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const NicCounters a = rig.a.engine.counters();
  const NicCounters b = rig.b.engine.counters();
  EXPECT_EQ(a.wqes, 1u);
  EXPECT_EQ(a.doorbells, 1u);
  EXPECT_EQ(a.cqes, 1u);
  EXPECT_EQ(a.bytes_sent, 1000u);
  EXPECT_EQ(b.bytes_received, 1000u);
  EXPECT_EQ(a.packets_sent, b.packets_received);
  EXPECT_EQ(b.packets_sent, a.packets_received);
}

}  // namespace
}  // namespace gdakit::softnic::test
