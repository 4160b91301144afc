// XRC: messages take receive WQEs, keys and CQ of the shared receive queue that they name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/softnic/xrc_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;
using testing::IsEmpty;

void fill_a(XrcRig& rig) { fill(rig.rig.a.heap.data(), rig.rig.a.heap.size() / 2, 1); }

bool same(const XrcRig& rig, std::size_t at_b, std::size_t at_a, std::size_t size) {
  return std::memcmp(rig.rig.b.heap.data() + at_b, rig.rig.a.heap.data() + at_a, size) == 0;
}

// Of one that takes many packets, which do not all come at once.
XrcRigOptions short_packets() {
  XrcRigOptions options;
  options.rig.wire.mtu = 256;
  options.rig.wire.slots = 8;
  return options;
}

TEST(Xrc, AMessageTakesAWqeOfTheQueueThatItNames) {
  XrcRig rig;
  fill_a(rig);
  for (std::size_t i = 0; i < 3; ++i) {
    rig.queues[0]->post(4096 * i, 64);
    rig.queues[1]->post(4096 * i + 64, 64);
  }
  for (std::size_t i = 0; i < 6; ++i) rig.post(i % 2, rig.send_wqe(64 * i, 60));
  ASSERT_TRUE(rig.run());
  for (std::size_t queue = 0; queue < 2; ++queue) {
    const auto cqes = rig.queues[queue]->cq.poll_all();
    ASSERT_EQ(cqes.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(opcode_of(cqes[i]), CqeOpcode::responder_send);
      EXPECT_EQ(cqes[i].wqe_counter, i);
      EXPECT_EQ(cqes[i].byte_cnt, 60u);
      EXPECT_EQ(cqes[i].srqn_uidx, XrcRig::kUserIndex + queue);
      EXPECT_EQ(cqes[i].sop_drop_qpn, rig.rig.b.qpn);
      EXPECT_TRUE(same(rig, 4096 * i + 64 * queue, 64 * (2 * i + queue), 60));
    }
    EXPECT_EQ(rig.queues[queue]->info().taken, 3);
  }
  const auto sent = rig.rig.a.send_cq.poll_all();
  ASSERT_EQ(sent.size(), 6u);
  for (const auto& cqe : sent) EXPECT_EQ(opcode_of(cqe), CqeOpcode::requester);
  EXPECT_EQ(sent[0].srqn_uidx, 0xabcdeu);
}

TEST(Xrc, LongMessagesKeepTheirWqe) {
  constexpr std::uint32_t kLong = 20'000;
  XrcRig rig(short_packets());
  fill_a(rig);
  for (std::size_t i = 0; i < 4; ++i) rig.queues[i % 2]->post(i * kLong, kLong);
  for (std::size_t i = 0; i < 4; ++i) {
    rig.post(i % 2, rig.send_wqe(i * kLong, kLong, Opcode::send_imm, 7));
  }
  ASSERT_TRUE(rig.run());
  for (const auto& queue : rig.queues) {
    const auto cqes = queue->cq.poll_all();
    ASSERT_EQ(cqes.size(), 2u);
    for (const auto& cqe : cqes) {
      EXPECT_EQ(opcode_of(cqe), CqeOpcode::responder_send_imm);
      EXPECT_EQ(cqe.imm_inval_pkey, 7u);
      EXPECT_EQ(cqe.byte_cnt, kLong);
    }
  }
  EXPECT_TRUE(same(rig, 0, 0, 4 * kLong));
}

TEST(Xrc, InlineDataAndOneWqeOverTheQueuesEnd) {
  XrcRig rig;
  std::vector<std::uint8_t> bytes(100);
  fill(bytes.data(), bytes.size(), 9);
  // Two WQEBBs each, from an odd place on: the last one wraps.
  rig.post(0, {.opcode = Opcode::nop});
  for (std::size_t i = 0; i < 32; ++i) {
    rig.queues[i % 2]->post(128 * i, 128);
    rig.post(i % 2, {.opcode = Opcode::send, .body = inline_segments(bytes)});
    ASSERT_TRUE(rig.run());
    ASSERT_EQ(rig.queues[i % 2]->cq.poll_all().size(), 1u) << i;
    rig.queues[i % 2]->client.free(static_cast<std::uint16_t>(i / 2 % 15));
    EXPECT_EQ(std::memcmp(rig.rig.b.heap.data() + 128 * i, bytes.data(), bytes.size()), 0) << i;
  }
}

TEST(Xrc, WritesReadsAndAtomicsUseTheQueuesProtectionDomain) {
  XrcRigOptions options;
  options.own_pd = true;
  XrcRig rig(options);
  fill_a(rig);
  const XrcQueue& queue = *rig.queues[1];
  rig.post(1, {.opcode = Opcode::rdma_write, .body = {queue.remote(0), rig.rig.a.data(0, 5000)}});
  EXPECT_EQ(rig.next_sent(), Syndrome::none);
  EXPECT_TRUE(same(rig, 0, 0, 5000));
  rig.post(1, {.opcode = Opcode::rdma_read, .body = {queue.remote(0), rig.rig.a.data(8192, 5000)}});
  EXPECT_EQ(rig.next_sent(), Syndrome::none);
  EXPECT_TRUE(same(rig, 0, 8192, 5000));
  rig.rig.b.word<std::uint64_t>(64) = 40;
  rig.post(1,
           {.opcode = Opcode::atomic_fa,
            .body = {queue.remote(64), format::to_segment(format::AtomicSegment{Be64{2}, Be64{0}}),
                     rig.rig.a.data(0, 8)}});
  EXPECT_EQ(rig.next_sent(), Syndrome::none);
  EXPECT_EQ(rig.rig.b.word<std::uint64_t>(64), 42u);
  EXPECT_EQ(rig.rig.a.word<std::uint64_t>(0), 40u);
  EXPECT_THAT(rig.queues[1]->cq.poll_all(), IsEmpty());
}

TEST(Xrc, AWriteWithImmediateTakesAWqe) {
  XrcRig rig;
  rig.queues[1]->post(0, 0);
  rig.post(1, {.opcode = Opcode::rdma_write_imm,
               .imm = 77,
               .body = {rig.queues[1]->remote(512), rig.rig.a.data(0, 100)}});
  EXPECT_EQ(rig.next_sent(), Syndrome::none);
  const auto cqe = rig.queues[1]->cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(opcode_of(*cqe), CqeOpcode::responder_write_imm);
  EXPECT_EQ(cqe->imm_inval_pkey, 77u);
  EXPECT_EQ(cqe->byte_cnt, 100u);
  EXPECT_EQ(cqe->srqn_uidx, XrcRig::kUserIndex + 1);
}

TEST(Xrc, AKeyOfAnotherProtectionDomainIsRefused) {
  for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read, Opcode::atomic_fa}) {
    XrcRigOptions options;
    options.own_pd = true;
    XrcRig rig(options);
    Wqe wqe{.opcode = opcode, .body = {rig.queues[0]->remote(0)}};
    if (opcode == Opcode::atomic_fa) {
      wqe.body.push_back(format::to_segment(format::AtomicSegment{Be64{2}, Be64{0}}));
    }
    wqe.body.push_back(rig.rig.a.data(0, 8));
    rig.post(0, wqe);
    EXPECT_EQ(rig.next_sent(), Syndrome::none);
    rig.post(1, wqe);
    EXPECT_EQ(rig.next_sent(), Syndrome::remote_access);
    EXPECT_THAT(rig.rig.b.events.of(EventKind::qp_access_error),
                testing::ElementsAre(Event{EventKind::qp_access_error, rig.rig.b.qpn}));
  }
}

TEST(Xrc, WaitsWhileTheQueueIsEmpty) {
  XrcRig rig;
  rig.post(1, rig.send_wqe(0, 8));
  const auto refused = [&] { return rig.rig.b.engine.counters().out_of_buffer > 1; };
  ASSERT_TRUE(rig.rig.run_until(refused));
  rig.queues[0]->post(0, 8);
  EXPECT_THAT(rig.rig.a.send_cq.poll_all(), IsEmpty());
  rig.queues[1]->post(0, 8);
  EXPECT_EQ(rig.next_sent(), Syndrome::none);
  EXPECT_EQ(rig.queues[1]->cq.poll_all().size(), 1u);
  EXPECT_EQ(rig.queues[0]->info().taken, 0);
}

TEST(Xrc, TellsOfALimit) {
  XrcRig rig;
  for (std::size_t i = 0; i < 4; ++i) rig.queues[1]->post(64 * i, 64);
  ASSERT_TRUE(rig.rig.b.engine.arm_srq(rig.queues[1]->number, 4));
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(rig.rig.b.events.of(EventKind::srq_limit), IsEmpty());
  rig.post(1, rig.send_wqe(0, 8));
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(rig.rig.b.events.of(EventKind::srq_limit),
              testing::ElementsAre(Event{EventKind::srq_limit, rig.queues[1]->number}));
}

TEST(Xrc, TargetsOfOneDomainShareItsQueues) {
  XrcRig rig;
  Engine& engine = rig.rig.b.engine;
  // The initiator is now the one's peer, now the other's.
  QpAttributes attributes;
  attributes.service = ServiceType::xrc;
  attributes.xrc_domain = rig.domain;
  const QpNumber first = rig.rig.b.qpn, second = *engine.create_qp(attributes);
  for (std::size_t i = 0; i < 4; ++i) rig.queues[1]->post(64 * i, 64);
  for (const QpNumber target : {first, second, first, second}) {
    rig.rig.b.qpn = target;
    rig.connect();
    rig.post(1, rig.send_wqe(0, 64));
    EXPECT_EQ(rig.next_sent(), Syndrome::none);
    const auto cqe = rig.queues[1]->cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->sop_drop_qpn, target);
  }
}

TEST(Xrc, RefusesAMessageThatIsTooLong) {
  XrcRig rig;
  rig.queues[1]->post(0, 64);
  rig.post(1, rig.send_wqe(0, 65));
  EXPECT_EQ(rig.next_sent(), Syndrome::remote_invalid_request);
  const auto cqe = rig.queues[1]->cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(opcode_of(*cqe), CqeOpcode::responder_error);
  EXPECT_EQ(syndrome_of(*cqe), Syndrome::local_length);
  EXPECT_EQ(cqe->srqn_uidx, XrcRig::kUserIndex + 1);
}

TEST(Xrc, AWqeWithoutRoomForTheNumberIsMalformed) {
  XrcRig rig;
  rig.rig.a.post({.opcode = Opcode::send});
  rig.rig.a.ring();
  EXPECT_EQ(rig.next_sent(), Syndrome::local_qp_operation);
}

}  // namespace
}  // namespace gdakit::softnic::test
