// Queue pairs of service type UC that take their receive WQEs from a shared receive queue, and what
// becomes of those when they fail or go.
#include <array>
#include <cstring>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/srq_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t kLong = 2000;

SrqRigOptions uc(std::uint32_t pairs) {
  SrqRigOptions options{.pairs = pairs};
  options.rig.service = ServiceType::uc;
  return options;
}

SrqRigOptions short_packets(std::uint32_t pairs) {
  SrqRigOptions options = uc(pairs);
  options.rig.wire.mtu = 256;
  options.rig.wire.slots = 2;
  return options;
}

TEST(UnreliableSrq, EachMessageTakesOneWqeWhicheverQueuePairItComesTo) {
  SrqRig rig(uc(2));
  fill(rig.rig.a.heap.data(), 256, 1);
  for (std::size_t i = 0; i < 4; ++i) rig.post(4096 + i * 64, 64);
  for (std::size_t i = 0; i < 3; ++i) {
    rig.send(i % 2, i * 64, 60);
    ASSERT_TRUE(rig.run());
  }
  rig.send(1, 0, 8, Opcode::rdma_write_imm, 7);
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.received();
  ASSERT_EQ(cqes.size(), 4u);
  for (std::uint16_t i = 0; i < 3; ++i) {
    EXPECT_EQ(opcode_of(cqes[i]), CqeOpcode::responder_send);
    EXPECT_EQ(cqes[i].wqe_counter, i);
    EXPECT_EQ(cqes[i].byte_cnt, 60u);
    EXPECT_EQ(cqes[i].srqn_uidx, SrqRig::kUserIndex + i % 2);
    EXPECT_EQ(std::memcmp(rig.rig.b.heap.data() + 4096 + i * 64,
                          rig.rig.a.heap.data() + i * std::size_t{64}, 60),
              0);
  }
  EXPECT_EQ(opcode_of(cqes[3]), CqeOpcode::responder_write_imm);
  EXPECT_EQ(rig.info().taken, 4);
}

TEST(UnreliableSrq, KeysOfItsWqesAreOfItsOwnProtectionDomain) {
  SrqRigOptions options = uc(1);
  options.own_pd = true;
  SrqRig rig(options);
  rig.rig.a.word<std::uint64_t>(0) = 77;
  rig.post(4096, 64);
  rig.send(0, 0, 8);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(opcode_of(rig.received().at(0)), CqeOpcode::responder_send);
  EXPECT_EQ(rig.rig.b.word<std::uint64_t>(4096), 77u);
}

TEST(UnreliableSrq, AnEmptyOneDropsTheMessage) {
  SrqRig rig(uc(1));
  rig.send(0, 0, 8);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(opcode_of(rig.rig.a.send_cq.poll().value()), CqeOpcode::requester);
  EXPECT_EQ(rig.rig.b.engine.counters().out_of_buffer, 1u);
  rig.post(0, 64);
  rig.send(0, 0, 8);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.received().size(), 1u);
  EXPECT_EQ(rig.state(0), QpState::rts);
}

TEST(UnreliableSrq, AMessageThatIsBrokenOffCompletesFlushedBeforeTheLastWqeIsTold) {
  SrqRig rig(short_packets(2));
  rig.expect_flush_before_last_wqe(kLong);
}

TEST(UnreliableSrq, WhatAQueuePairHadClaimedCompletesFlushedWhenItGoes) {
  for (const bool destroys : {false, true}) {
    SrqRig rig(short_packets(2));
    Engine& engine = rig.rig.b.engine;
    rig.post(0, kLong);
    rig.post(4096, kLong);
    rig.send_a_part(0, kLong);
    const QpNumber qpn = rig.pairs[0]->to;
    ASSERT_TRUE(destroys ? engine.destroy_qp(qpn) : engine.modify_qp(qpn, {}));
    const RemovalNumber removal = engine.last_removal();
    ASSERT_TRUE(rig.rig.run_until([&] { return engine.removed(removal); }));
    const auto cqes = rig.received();
    ASSERT_EQ(cqes.size(), 1u);
    EXPECT_EQ(syndrome_of(cqes[0]), Syndrome::flushed);
    EXPECT_EQ(cqes[0].wqe_counter, 0);
    EXPECT_EQ(bit_cast<format::ErrorCqe>(cqes[0]).s_wqe_opcode_qpn, qpn);
    EXPECT_EQ(engine.counters().resp_cqe_flush_error, 1u);
    EXPECT_EQ(rig.info().taken, 1);
    rig.send(1, 0, 64);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.received().at(0).wqe_counter, 1);
  }
}

// Some have come whole, and their bytes are on their way to memory when the queue pair goes.
TEST(UnreliableSrq, EachWqeCompletesOnceWhenItsBytesWereOnTheirWay) {
  constexpr std::uint16_t kMessages = 8;
  SrqRigOptions options = uc(1);
  options.rig.make_port = [](int side) {
    return std::make_unique<DelayedDma>(static_cast<std::uint32_t>(side), /*ordered=*/true);
  };
  for (int steps = 0; steps < 120; steps += 5) {
    SrqRig rig(options);
    Engine& engine = rig.rig.b.engine;
    for (int i = 0; i < kMessages; ++i) rig.post(0, 64);
    for (int i = 0; i < kMessages; ++i) rig.send(0, 0, 64);
    for (int i = 0; i < steps; ++i) rig.step();
    ASSERT_TRUE(engine.destroy_qp(rig.pairs[0]->to));
    const RemovalNumber removal = engine.last_removal();
    ASSERT_TRUE(rig.rig.run_until([&] { return engine.removed(removal); }));
    std::array<int, kMessages> completed{};
    for (const auto& cqe : rig.received()) ++completed.at(cqe.wqe_counter);
    for (std::uint16_t i = 0; i < kMessages; ++i) {
      EXPECT_EQ(completed[i], i < rig.info().taken ? 1 : 0) << "after " << steps << " steps";
    }
    ASSERT_TRUE(rig.run());
  }
}

// The first WQE is sound; it says that the next one lies behind the queue's end.
TEST(UnreliableSrq, AListThatLeadsOutOfTheQueueFailsWhoeverWantsItsWqes) {
  SrqRig rig(uc(2));
  for (int i = 0; i < 3; ++i) rig.post(0, 64);
  rig.srq.store_next(0, 16);
  rig.send(0, 0, 64);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(opcode_of(rig.received().at(0)), CqeOpcode::responder_send);
  rig.rig.b.events.take();
  const QpNumber second = rig.pairs[1]->to;
  rig.send(1, 0, 64);
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(rig.received(), IsEmpty());
  EXPECT_THAT(rig.rig.b.events.take(),
              ElementsAre(Event{EventKind::srq_error, rig.srqn}, Event{EventKind::qp_fatal, second},
                          Event{EventKind::last_wqe, second}));
  EXPECT_EQ(rig.rig.b.engine.counters().out_of_buffer, 0u);
  EXPECT_EQ(rig.state(0), QpState::rts);
  EXPECT_EQ(rig.state(1), QpState::err);
}

}  // namespace
}  // namespace gdakit::softnic::test
