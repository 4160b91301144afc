// XRC: what is dropped, and what happens when a queue, a target or a domain goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/softnic/engine/status_text.h"
#include "tests/softnic/xrc_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;
using testing::IsEmpty;

constexpr std::uint32_t kLong = 20'000;

XrcRigOptions impatient() {
  XrcRigOptions options;
  options.rig.wire.mtu = 256;
  options.rig.wire.slots = 8;
  options.rig.settings.retry_count = 2;
  return options;
}

void expect_dropped(XrcRig& rig, SrqNumber srq) {
  std::memset(rig.rig.b.heap.data(), 0x33, rig.rig.b.heap.size());
  const std::vector<std::uint8_t> before(rig.rig.b.heap.data(),
                                         rig.rig.b.heap.data() + rig.rig.b.heap.size());
  const auto drops = [&] { return rig.rig.b.engine.counters().xrc_violations; };
  const std::vector<Wqe> all = {
      rig.send_wqe(0, 8),
      rig.send_wqe(0, 1000),
      {.opcode = Opcode::rdma_write, .body = {rig.queues[0]->remote(0), rig.rig.a.data(0, 8)}},
      {.opcode = Opcode::rdma_read, .body = {rig.queues[0]->remote(0), rig.rig.a.data(0, 8)}}};
  for (const Wqe& wqe : all) {
    const std::uint64_t dropped = drops();
    rig.post_for(srq, wqe);
    EXPECT_EQ(rig.next_sent(), Syndrome::transport_retry_exceeded);
    EXPECT_GE(drops(), dropped + 2);
    EXPECT_EQ(rig.rig.b.info().state, QpState::rts);
    rig.connect();
    rig.rig.a.send_cq.poll_all();
  }
  EXPECT_EQ(std::memcmp(rig.rig.b.heap.data(), before.data(), before.size()), 0);
  for (const auto& queue : rig.queues) {
    EXPECT_EQ(queue->info().taken, 0);
    EXPECT_THAT(queue->cq.poll_all(), IsEmpty());
  }
  EXPECT_THAT(rig.rig.b.events.of(EventKind::qp_fatal), IsEmpty());
}

TEST(XrcEnd, WhatNamesNoQueueOfTheDomainIsDropped) {
  XrcRig rig(impatient());
  rig.queues[0]->post(0, kLong);
  expect_dropped(rig, 0);
  expect_dropped(rig, 0xffffff);
  Engine& engine = rig.rig.b.engine;
  XrcQueue of_another_domain(rig.rig.b, *engine.alloc_xrcd(), 5);
  of_another_domain.post(0, kLong);
  expect_dropped(rig, of_another_domain.number);
  EXPECT_EQ(of_another_domain.info().taken, 0);
  SrqClient client(SrqForm::list, 4, 5);
  const SrqNumber of_no_domain = *engine.create_srq(client.attributes(rig.rig.b.pd));
  expect_dropped(rig, of_no_domain);
  ASSERT_TRUE(engine.destroy_srq(of_no_domain));
  of_another_domain.destroy();
  ASSERT_TRUE(rig.run());
}

TEST(XrcEnd, AnInitiatorTakesNoRequests) {
  XrcRig rig(impatient());
  rig.queues[0]->post(0, kLong);
  // Two initiators that are each other's peer.
  Engine& engine = rig.rig.b.engine;
  ASSERT_TRUE(engine.destroy_qp(rig.rig.b.qpn));
  QpAttributes initiator = rig.rig.b.another_qp(rig.rig.b.record);
  initiator.service = ServiceType::xrc;
  rig.rig.b.qpn = *engine.create_qp(initiator);
  rig.connect();
  expect_dropped(rig, rig.queues[0]->number);
}

TEST(XrcEnd, AMessageWhoseQueueGoesDoesNotGoOn) {
  XrcRig rig(impatient());
  for (const auto& queue : rig.queues) queue->post(0, kLong);
  rig.begin_message(1, kLong);
  rig.queues[1]->destroy();
  ASSERT_TRUE(rig.rig.b.engine.destroy_cq(rig.queues[1]->cqn));
  EXPECT_EQ(rig.next_sent(), Syndrome::transport_retry_exceeded);
  EXPECT_TRUE(rig.rig.b.engine.drained());
  EXPECT_THAT(rig.queues[1]->cq.poll_all(), IsEmpty());
  EXPECT_EQ(rig.rig.b.info().state, QpState::rts);
  rig.connect();
  rig.rig.a.send_cq.poll_all();
  rig.post(0, rig.send_wqe(0, kLong));
  EXPECT_EQ(rig.next_sent(), Syndrome::none);
  EXPECT_EQ(rig.queues[0]->cq.poll_all().size(), 1u);
}

TEST(XrcEnd, AReadWhoseQueueGoesIsNotAnsweredAnyMore) {
  XrcRig rig(impatient());
  rig.queues[0]->post(0, 8);
  rig.post(1, {.opcode = Opcode::rdma_read,
               .body = {rig.queues[1]->remote(0), rig.rig.a.data(0, kLong)}});
  const auto sent = [&] { return rig.rig.b.engine.counters().bytes_sent; };
  ASSERT_TRUE(rig.rig.run_until([&] { return sent() != 0; }));
  ASSERT_LT(sent(), kLong);
  rig.queues[1]->destroy();
  EXPECT_EQ(rig.next_sent(), Syndrome::transport_retry_exceeded);
  EXPECT_EQ(rig.rig.b.info().state, QpState::rts);
  EXPECT_THAT(rig.rig.b.events.of(EventKind::qp_access_error), IsEmpty());
}

// The number has another owner by then: nothing of the old one's comes to it.
TEST(XrcEnd, AQueueWithTheNumberOfOneThatIsGoneIsAnotherOne) {
  XrcRigOptions options = impatient();
  options.rig.engine.max_objects = 4;
  XrcRig rig(options);
  rig.queues[1]->post(0, kLong);
  rig.begin_message(1, kLong);
  rig.queues[1]->destroy();
  const SrqNumber gone = rig.queues[1]->number;
  Engine& engine = rig.rig.b.engine;
  ASSERT_TRUE(engine.destroy_cq(rig.queues[1]->cqn));
  std::vector<std::unique_ptr<XrcQueue>> others;
  while (others.empty() || others.back()->number != gone) {
    ASSERT_LT(others.size(), 4u);
    if (!others.empty()) {
      others.back()->destroy();
      ASSERT_TRUE(engine.destroy_cq(others.back()->cqn));
    }
    others.push_back(std::make_unique<XrcQueue>(rig.rig.b, rig.domain, 9));
  }
  others.back()->post(0, kLong);
  EXPECT_EQ(rig.next_sent(), Syndrome::transport_retry_exceeded);
  EXPECT_THAT(others.back()->cq.poll_all(), IsEmpty());
  EXPECT_EQ(others.back()->info().taken, 0);
  others.back()->destroy();
  ASSERT_TRUE(rig.run());
}

TEST(XrcEnd, ATargetThatFailsFlushesToTheQueuesCq) {
  XrcRig rig(impatient());
  for (const auto& queue : rig.queues) queue->post(0, kLong);
  rig.begin_message(1, kLong);
  ASSERT_TRUE(rig.rig.b.engine.modify_qp(rig.rig.b.qpn, {.state = QpState::err}));
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.queues[1]->cq.poll_all();
  ASSERT_EQ(cqes.size(), 1u);
  EXPECT_EQ(opcode_of(cqes[0]), CqeOpcode::responder_error);
  EXPECT_EQ(syndrome_of(cqes[0]), Syndrome::flushed);
  EXPECT_EQ(cqes[0].srqn_uidx, XrcRig::kUserIndex + 1);
  EXPECT_THAT(rig.queues[0]->cq.poll_all(), IsEmpty());
  EXPECT_EQ(rig.next_sent(), Syndrome::transport_retry_exceeded);
}

TEST(XrcEnd, ADestroyedTargetReturnsWhatItHasTaken) {
  XrcRig rig(impatient());
  for (const auto& queue : rig.queues) queue->post(0, kLong);
  rig.begin_message(1, kLong);
  ASSERT_TRUE(rig.rig.b.engine.destroy_qp(rig.rig.b.qpn));
  ASSERT_TRUE(rig.run());
  EXPECT_TRUE(rig.rig.b.engine.drained());
  const auto cqes = rig.queues[1]->cq.poll_all();
  ASSERT_EQ(cqes.size(), 1u);
  EXPECT_EQ(syndrome_of(cqes[0]), Syndrome::flushed);
}

TEST(XrcEnd, QueueAndTargetMayGoInEitherOrder) {
  for (const bool queue_first : {true, false}) {
    XrcRig rig(impatient());
    rig.queues[1]->post(0, kLong);
    rig.begin_message(1, kLong);
    Engine& engine = rig.rig.b.engine;
    if (queue_first) rig.queues[1]->destroy();
    ASSERT_TRUE(engine.destroy_qp(rig.rig.b.qpn));
    if (!queue_first) rig.queues[1]->destroy();
    ASSERT_TRUE(engine.destroy_cq(rig.queues[1]->cqn));
    ASSERT_TRUE(rig.run());
    EXPECT_TRUE(engine.drained());
    EXPECT_THAT(rig.queues[1]->cq.poll_all(), IsEmpty());
  }
}

TEST(XrcEnd, ADomainStaysWhileItIsUsed) {
  XrcRig rig;
  Engine& engine = rig.rig.b.engine;
  const auto says = [&] { return engine.dealloc_xrcd(rig.domain).status().syndrome; };
  EXPECT_EQ(says(), CommandSyndrome::dealloc_xrcd_busy);
  for (const auto& queue : rig.queues) queue->destroy();
  EXPECT_EQ(says(), CommandSyndrome::dealloc_xrcd_busy);
  ASSERT_TRUE(engine.destroy_qp(rig.rig.b.qpn));
  EXPECT_EQ(says(), CommandSyndrome::none);
  EXPECT_EQ(says(), CommandSyndrome::dealloc_xrcd_absent);
  ASSERT_TRUE(rig.run());
}

TEST(XrcEnd, ACqStaysWhileAQueueUsesIt) {
  XrcRig rig;
  Engine& engine = rig.rig.b.engine;
  const CqNumber cq = rig.queues[1]->cqn;
  EXPECT_EQ(engine.destroy_cq(cq).status().syndrome, CommandSyndrome::destroy_cq_busy);
  rig.queues[1]->destroy();
  EXPECT_TRUE(engine.destroy_cq(cq));
  ASSERT_TRUE(rig.run());
}

}  // namespace
}  // namespace gdakit::softnic::test
