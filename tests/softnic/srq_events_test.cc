// Shared receive queues that run low, and queue pairs that fail or go: what is told, and what
// becomes of the WQEs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/softnic/srq_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Syndrome;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t kLong = 2000;

SrqRigOptions short_packets(std::uint32_t pairs) {
  SrqRigOptions options{.pairs = pairs};
  options.rig.wire.mtu = 256;
  options.rig.wire.slots = 2;
  options.rig.settings.ack_timeout = 0;
  return options;
}

class SrqLimit : public testing::Test {
 protected:
  // Messages that all arrive.
  void send(int count) {
    for (int i = 0; i < count; ++i) rig.send(0, 0, 8);
    ASSERT_TRUE(rig.run());
  }
  std::vector<Event> told() { return rig.rig.b.events.take(); }
  void arm(std::uint32_t limit) { ASSERT_TRUE(rig.rig.b.engine.arm_srq(rig.srqn, limit)); }

  SrqRig rig;
  const Event reached{EventKind::srq_limit, rig.srqn};
};

TEST_F(SrqLimit, IsToldOnceWhenFewerAreLeft) {
  for (int i = 0; i < 10; ++i) rig.post(0, 64);
  arm(7);
  EXPECT_EQ(rig.info().limit, 7u);
  send(3);
  EXPECT_THAT(told(), IsEmpty());  // as many as the limit are left
  send(1);
  EXPECT_THAT(told(), ElementsAre(reached));
  EXPECT_EQ(rig.info().limit, 0u);
  send(2);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(SrqLimit, IsToldAtOnceIfFewerAreLeftAlready) {
  for (int i = 0; i < 4; ++i) rig.post(0, 64);
  arm(4);
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(told(), IsEmpty());
  arm(5);
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(told(), ElementsAre(reached));
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(told(), IsEmpty());
}

// What the NIC has not known of counts.
TEST_F(SrqLimit, CountsWhatWasPostedMeanwhile) {
  for (int i = 0; i < 3; ++i) rig.post(0, 64);
  arm(2);
  send(1);  // the record says three
  for (int i = 0; i < 8; ++i) rig.post(0, 64);
  send(8);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(rig.info().posted, 11);
  send(1);
  EXPECT_THAT(told(), ElementsAre(reached));
}

TEST_F(SrqLimit, OfZeroIsNone) {
  rig.post(0, 64);
  arm(1);
  arm(0);
  send(1);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(rig.info().taken, 1);
}

TEST_F(SrqLimit, IsNotToldOfOneThatIsGone) {
  rig.modify(0, QpState::reset);
  ASSERT_TRUE(rig.rig.b.engine.destroy_qp(rig.pairs[0]->to));
  arm(5);
  ASSERT_TRUE(rig.rig.b.engine.destroy_srq(rig.srqn));
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(told(), IsEmpty());
}

// The one that its message has claimed completes with the error; the others stay.
TEST(SrqErrors, AQueuePairThatFailsLeavesTheOthersTheirWqes) {
  SrqRig rig({.pairs = 2});
  rig.post(0, 16);
  for (int i = 0; i < 3; ++i) rig.post(4096, 64);
  rig.send(0, 0, 64);
  ASSERT_TRUE(rig.run());
  auto cqes = rig.received();
  ASSERT_EQ(cqes.size(), 1u);
  EXPECT_EQ(opcode_of(cqes[0]), CqeOpcode::responder_error);
  EXPECT_EQ(syndrome_of(cqes[0]), Syndrome::local_length);
  EXPECT_EQ(cqes[0].wqe_counter, 0);
  EXPECT_EQ(cqes[0].srqn_uidx, SrqRig::kUserIndex);
  EXPECT_EQ(rig.state(0), QpState::err);
  EXPECT_THAT(rig.rig.b.events.take(), ElementsAre(Event{EventKind::last_wqe, rig.pairs[0]->to}));
  for (int i = 0; i < 3; ++i) rig.send(1, 0, 64);
  ASSERT_TRUE(rig.run());
  cqes = rig.received();
  ASSERT_EQ(cqes.size(), 3u);
  for (std::uint16_t i = 0; i < 3; ++i) {
    EXPECT_EQ(opcode_of(cqes[i]), CqeOpcode::responder_send);
    EXPECT_EQ(cqes[i].wqe_counter, i + 1);
  }
  EXPECT_THAT(rig.rig.b.events.take(), IsEmpty());
}

TEST(SrqErrors, AMessageThatIsBrokenOffCompletesFlushedBeforeTheLastWqeIsTold) {
  SrqRig rig(short_packets(2));
  rig.expect_flush_before_last_wqe(kLong);
}

TEST(SrqErrors, TheLastWqeIsToldOfEachFailureAndInAnyState) {
  SrqRig rig({.pairs = 1});
  const Event last{EventKind::last_wqe, rig.pairs[0]->to};
  for (const QpState from : {QpState::reset, QpState::init, QpState::rts}) {
    rig.modify(0, QpState::reset);
    if (from == QpState::init) rig.modify(0, QpState::init);
    if (from == QpState::rts) rig.connect(0);
    ASSERT_TRUE(rig.run());
    EXPECT_THAT(rig.rig.b.events.take(), IsEmpty());
    rig.modify(0, QpState::err);
    ASSERT_TRUE(rig.run());
    EXPECT_THAT(rig.rig.b.events.take(), ElementsAre(last));
    rig.modify(0, QpState::err);
    ASSERT_TRUE(rig.run());
    EXPECT_THAT(rig.rig.b.events.take(), IsEmpty());
  }
}

TEST(SrqErrors, AQueuePairWithItsOwnReceiveQueueHasNoLastWqe) {
  SrqRig rig;
  QpModify modify;
  modify.state = QpState::err;
  ASSERT_TRUE(rig.rig.b.engine.modify_qp(rig.rig.b.qpn, modify));
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(rig.rig.b.events.take(), IsEmpty());
}

// A queue pair that is reset or destroyed in the middle of a message gives its WQE back.
TEST(SrqErrors, WhatAQueuePairHadClaimedCompletesFlushedWhenItGoes) {
  for (const bool destroys : {false, true}) {
    SrqRig rig(short_packets(2));
    Engine& engine = rig.rig.b.engine;
    rig.post(0, kLong);
    rig.post(4096, kLong);
    rig.send_a_part(0, kLong);
    const QpNumber qpn = rig.pairs[0]->to;
    ASSERT_TRUE(destroys ? engine.destroy_qp(qpn) : engine.modify_qp(qpn, {}));
    ASSERT_TRUE(engine.removed(engine.last_removal()));
    const auto cqes = rig.received();
    ASSERT_EQ(cqes.size(), 1u);
    EXPECT_EQ(syndrome_of(cqes[0]), Syndrome::flushed);
    EXPECT_EQ(cqes[0].wqe_counter, 0);
    EXPECT_EQ(bit_cast<format::ErrorCqe>(cqes[0]).s_wqe_opcode_qpn, qpn);
    EXPECT_EQ(engine.counters().resp_cqe_flush_error, 1u);
    EXPECT_EQ(rig.info().taken, 1);
    EXPECT_THAT(rig.rig.b.events.take(), IsEmpty());
    rig.send(1, 0, 64);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.received().at(0).wqe_counter, 1);
  }
}

TEST(SrqErrors, TheReceiveCqStaysForWhatIsGivenBack) {
  SrqRig rig(short_packets(1));
  Engine& engine = rig.rig.b.engine;
  rig.post(0, kLong);
  rig.send_a_part(0, kLong);
  ASSERT_TRUE(engine.destroy_qp(rig.rig.b.qpn));
  ASSERT_TRUE(engine.destroy_qp(rig.pairs[0]->to));
  const RemovalNumber removal = engine.last_removal();
  EXPECT_EQ(engine.destroy_cq(rig.rig.b.receive_cqn).status().status, CommandStatus::res_busy);
  ASSERT_TRUE(engine.removed(removal));
  EXPECT_EQ(rig.received().size(), 1u);
  EXPECT_TRUE(engine.destroy_cq(rig.rig.b.receive_cqn));
}

TEST(SrqErrors, AQueuePairThatHasClaimedNothingGoesWithoutACqe) {
  SrqRig rig({.pairs = 2});
  rig.post(0, 64);
  rig.post(0, 64);
  rig.send(0, 0, 64);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.received().size(), 1u);
  rig.modify(0, QpState::reset);
  ASSERT_TRUE(rig.rig.b.engine.destroy_qp(rig.pairs[1]->to));
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(rig.received(), IsEmpty());
  EXPECT_EQ(rig.info().taken, 1);
}

TEST(SrqErrors, AQueuePairThatWasResetTakesWqesAgain) {
  SrqRig rig;
  rig.modify(0, QpState::err);
  ASSERT_TRUE(rig.run());
  rig.connect(0);
  rig.post(0, 64);
  rig.send(0, 0, 64);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(opcode_of(rig.received().at(0)), CqeOpcode::responder_send);
}

// The first WQE is sound; it says that the next one lies behind the queue's end.
TEST(SrqErrors, AListThatLeadsOutOfTheQueueFailsWhoeverWantsItsWqes) {
  SrqRig rig({.pairs = 3});
  for (int i = 0; i < 3; ++i) rig.post(0, 64);
  rig.srq.store_next(0, 16);
  rig.send(0, 0, 64);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(opcode_of(rig.received().at(0)), CqeOpcode::responder_send);
  EXPECT_FALSE(rig.info().error);
  rig.send(1, 0, 64);
  ASSERT_TRUE(rig.run());
  EXPECT_TRUE(rig.info().error);
  EXPECT_THAT(rig.received(), IsEmpty());
  const QpNumber second = rig.pairs[1]->to, first = rig.pairs[0]->to;
  EXPECT_THAT(rig.rig.b.events.take(),
              ElementsAre(Event{EventKind::srq_error, rig.srqn}, Event{EventKind::qp_fatal, second},
                          Event{EventKind::last_wqe, second}));
  EXPECT_EQ(rig.state(0), QpState::rts);
  rig.send(0, 0, 64);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.state(0), QpState::err);
  EXPECT_EQ(rig.state(2), QpState::rts);
  EXPECT_THAT(rig.rig.b.events.take(),
              ElementsAre(Event{EventKind::qp_fatal, first}, Event{EventKind::last_wqe, first}));
  std::vector<Syndrome> sent;
  for (const auto& cqe : rig.rig.a.send_cq.poll_all()) {
    if (opcode_of(cqe) == CqeOpcode::requester_error) sent.push_back(syndrome_of(cqe));
  }
  EXPECT_THAT(sent, ElementsAre(Syndrome::remote_operation, Syndrome::remote_operation));
}

TEST(SrqControl, ItsUsersGoFirst) {
  SrqRig rig({.pairs = 2, .own_pd = true});
  Engine& engine = rig.rig.b.engine;
  const auto refused = [](const Outcome<>& outcome) {
    return !outcome && outcome.status().status == CommandStatus::res_busy;
  };
  ASSERT_TRUE(engine.dereg_mr(rig.key));
  EXPECT_TRUE(refused(engine.destroy_srq(rig.srqn)));
  ASSERT_TRUE(engine.destroy_qp(rig.pairs[0]->to));
  EXPECT_TRUE(refused(engine.destroy_srq(rig.srqn)));
  rig.modify(1, QpState::reset);
  EXPECT_TRUE(refused(engine.destroy_srq(rig.srqn)));
  ASSERT_TRUE(engine.destroy_qp(rig.pairs[1]->to));
  EXPECT_TRUE(refused(engine.dealloc_pd(rig.pd)));
  ASSERT_TRUE(engine.destroy_srq(rig.srqn));
  EXPECT_FALSE(engine.query_srq(rig.srqn));
  EXPECT_TRUE(engine.dealloc_pd(rig.pd));
}

TEST(SrqControl, TheReceiveCqOfItsQueuePairsIsInUse) {
  SrqRig rig;
  Engine& engine = rig.rig.b.engine;
  ASSERT_TRUE(engine.destroy_qp(rig.rig.b.qpn));
  EXPECT_FALSE(engine.destroy_cq(rig.rig.b.receive_cqn));
  ASSERT_TRUE(engine.destroy_qp(rig.pairs[0]->to));
  EXPECT_TRUE(engine.destroy_cq(rig.rig.b.receive_cqn));
}

TEST(SrqControl, NumbersAreItsOwn) {
  SrqRig rig;
  EXPECT_EQ(rig.srqn, 1u);
  EXPECT_EQ(*rig.rig.b.engine.create_srq(rig.srq.attributes(rig.pd)), 2u);
}

}  // namespace
}  // namespace gdakit::softnic::test
