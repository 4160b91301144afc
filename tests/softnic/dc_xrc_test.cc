// A target of DC whose shared receive queue is one of XRC: receive WQEs and their keys are that
// queue's, CQ and user index the target's, while messages of XRC complete as ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/softnic/dc_rig.h"
#include "tests/softnic/xrc_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;
using testing::IsEmpty;

constexpr std::uint32_t kQueueIndex = 0x300;

struct DcOverXrc {
  explicit DcOverXrc(bool own_pd = false, DcRigOptions options = {}) : rig(options) {
    fill(rig.rig.a.heap.data(), rig.rig.a.heap.size() / 2, 1);
    domain = *b().alloc_xrcd();
    queue = std::make_unique<XrcQueue>(rig.rig.b, domain, kQueueIndex, own_pd);
    DctAttributes attributes = rig.target(1);
    attributes.srq = queue->number;
    target = *b().create_dct(attributes);
  }

  Engine& b() { return rig.rig.b.engine; }
  void send(const Wqe& wqe) { rig.send_to(0, target, wqe); }
  bool same(std::size_t at_b, std::size_t at_a, std::size_t size) const {
    return std::memcmp(rig.rig.b.heap.data() + at_b, rig.rig.a.heap.data() + at_a, size) == 0;
  }
  std::vector<format::Cqe64> received() { return rig.rig.b.receive_cq.poll_all(); }

  std::unique_ptr<XrcQueue> queue;  // memory that engines read to their end
  DcRig rig;
  XrcdNumber domain = 0;
  DctNumber target = 0;
};

TEST(DcOverXrcSrq, MessagesTakeItsWqesAndCompleteAsTheTargets) {
  for (const bool own_pd : {false, true}) {
    DcRigOptions options;
    options.rig.wire.mtu = 256;
    DcOverXrc rig(own_pd, options);
    constexpr std::uint32_t kLong = 5000;
    for (std::size_t i = 0; i < 3; ++i) rig.queue->post(i * kLong, kLong);
    rig.send(rig.rig.send_wqe(0, 60));
    rig.send(rig.rig.send_wqe(kLong, kLong, Opcode::send_imm, 7));
    Wqe write_imm = rig.rig.write(1 << 18, 0, 100);
    write_imm.opcode = Opcode::rdma_write_imm;
    write_imm.imm = 9;
    rig.send(write_imm);
    ASSERT_TRUE(rig.rig.run());
    EXPECT_EQ(rig.rig.succeeded(0), 3u);
    EXPECT_TRUE(rig.same(0, 0, 60));
    EXPECT_TRUE(rig.same(kLong, kLong, kLong));
    EXPECT_TRUE(rig.same(1 << 18, 0, 100));
    const auto cqes = rig.received();
    ASSERT_EQ(cqes.size(), 3u);
    const CqeOpcode opcodes[] = {CqeOpcode::responder_send, CqeOpcode::responder_send_imm,
                                 CqeOpcode::responder_write_imm};
    const std::uint32_t lengths[] = {60, kLong, 100}, immediates[] = {0, 7, 9};
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(opcode_of(cqes[i]), opcodes[i]);
      EXPECT_EQ(cqes[i].wqe_counter, i);
      EXPECT_EQ(cqes[i].byte_cnt, lengths[i]);
      EXPECT_EQ(cqes[i].imm_inval_pkey, immediates[i]);
      EXPECT_EQ(cqes[i].srqn_uidx, DcRig::kUserIndex + 1);
      EXPECT_EQ(cqes[i].sop_drop_qpn & 0xffffff, rig.target);
      EXPECT_EQ(cqes[i].flags_rqpn & 0xffffff, rig.rig.initiators[0]->qpn);
    }
    EXPECT_THAT(rig.queue->cq.poll_all(), IsEmpty());
    EXPECT_EQ(rig.queue->info().taken, 3);
  }
}

TEST(DcOverXrcSrq, AMessageWaitsForAReceiveWqe) {
  DcOverXrc rig;
  rig.send(rig.rig.send_wqe(0, 60));
  ASSERT_TRUE(rig.rig.run());
  EXPECT_EQ(rig.rig.succeeded(0), 0u);
  EXPECT_GT(rig.b().counters().out_of_buffer, 0u);
  rig.queue->post(0, 64);
  EXPECT_EQ(rig.rig.next(0), Syndrome::none);
}

TEST(DcOverXrcSrq, AWqeThatFailsCompletesAsTheTargets) {
  DcOverXrc rig;
  rig.queue->post(0, 32);
  rig.send(rig.rig.send_wqe(0, 60));
  EXPECT_EQ(rig.rig.next(0), Syndrome::remote_invalid_request);
  ASSERT_TRUE(rig.rig.run());
  const auto cqes = rig.received();
  ASSERT_EQ(cqes.size(), 1u);
  EXPECT_EQ(syndrome_of(cqes[0]), Syndrome::local_length);
  EXPECT_EQ(cqes[0].srqn_uidx, DcRig::kUserIndex + 1);
  EXPECT_THAT(rig.queue->cq.poll_all(), IsEmpty());
}

TEST(DcOverXrcSrq, ItStaysWhileTheTargetIsThere) {
  DcOverXrc rig;
  EXPECT_EQ(rig.b().destroy_srq(rig.queue->number).status().syndrome,
            CommandSyndrome::destroy_srq_busy);
  rig.queue->post(0, 64);
  rig.send(rig.rig.send_wqe(0, 60));
  EXPECT_EQ(rig.rig.next(0), Syndrome::none);
  ASSERT_TRUE(rig.b().drain_dct(rig.target));
  ASSERT_TRUE(rig.rig.run());
  ASSERT_TRUE(rig.b().destroy_dct(rig.target));
  rig.queue->destroy();
  EXPECT_TRUE(rig.b().dealloc_xrcd(rig.domain));
}

// Initiators and targets of both kinds; messages take turns.
TEST(DcOverXrcSrq, MessagesOfXrcTakeItsOtherWqes) {
  DcOverXrc rig;
  EngineRig& pair = rig.rig.rig;
  for (Side* const side : {&pair.a, &pair.b}) ASSERT_TRUE(side->engine.destroy_qp(side->qpn));
  QpAttributes initiator = pair.a.another_qp(pair.a.record);
  initiator.service = ServiceType::xrc;
  initiator.log_send_wqebbs = pair.a.options.log_sq;
  pair.a.qpn = *pair.a.engine.create_qp(initiator);
  QpAttributes target;
  target.service = ServiceType::xrc;
  target.xrc_domain = rig.domain;
  pair.b.qpn = *pair.b.engine.create_qp(target);
  for (Side* const side : {&pair.a, &pair.b}) {
    ASSERT_TRUE(side->engine.modify_qp(side->qpn, {.state = QpState::reset}));
  }
  const QpModify limits = pair.a.options.settings;
  EngineRig::connect(pair.a, pair.b, limits, 0, 0);
  EngineRig::connect(pair.b, pair.a, limits, 0, 0);
  for (std::size_t i = 0; i < 8; ++i) rig.queue->post(i * 64, 64);
  for (std::size_t i = 0; i < 8; ++i) {
    Wqe wqe = rig.rig.send_wqe(i * 64, 60);
    if (i % 2 == 0) {
      rig.send(wqe);
    } else {
      const format::XrcSegment named{Be32{rig.queue->number}, {}};
      wqe.body.insert(wqe.body.begin(), format::to_segment(named));
      pair.a.post(wqe);
      pair.a.ring();
    }
    ASSERT_TRUE(rig.rig.run());
    EXPECT_TRUE(rig.same(i * 64, i * 64, 60));
  }
  const auto by_dc = rig.received(), by_xrc = rig.queue->cq.poll_all();
  ASSERT_EQ(by_dc.size(), 4u);
  ASSERT_EQ(by_xrc.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(by_dc[i].srqn_uidx, DcRig::kUserIndex + 1);
    EXPECT_EQ(by_dc[i].wqe_counter, 2 * i);
    EXPECT_EQ(by_xrc[i].srqn_uidx, kQueueIndex);
    EXPECT_EQ(by_xrc[i].wqe_counter, 2 * i + 1);
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
