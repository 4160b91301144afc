// The control path of the engine: what is created, what is refused and why, and what states allow.
#include <gtest/gtest.h>

#include "backends/softnic/engine/status_text.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Opcode;

class ControlTest : public testing::Test {
 protected:
  EngineRig rig;
  Engine& engine = rig.a.engine;
  CqAttributes cq() {
    CqAttributes attributes;
    attributes.entries = rig.a.send_cq.address();
    attributes.overrun_ignore = true;
    return attributes;
  }
  QpAttributes qp() {
    QpAttributes attributes = rig.a.another_qp(rig.a.record);
    attributes.receive_cq = rig.a.send_cqn;
    attributes.receive_queue = host_address(rig.a.rq.data());
    return attributes;
  }
  template <class T>
  void expect_refused(const Outcome<T>& outcome, CommandStatus status) {
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.status().status, status) << status_text(outcome.status());
  }
};

TEST_F(ControlTest, ObjectsInUseStay) {
  expect_refused(engine.dealloc_pd(rig.a.pd), CommandStatus::res_busy);
  expect_refused(engine.free_uar(rig.a.uar), CommandStatus::res_busy);
  expect_refused(engine.destroy_cq(rig.a.send_cqn), CommandStatus::res_busy);
  expect_refused(engine.destroy_cq(rig.a.receive_cqn), CommandStatus::res_busy);
  ASSERT_TRUE(engine.destroy_qp(rig.a.qpn));
  EXPECT_TRUE(engine.free_uar(rig.a.uar));
  EXPECT_TRUE(engine.destroy_cq(rig.a.send_cqn));
  EXPECT_TRUE(engine.destroy_cq(rig.a.receive_cqn));
  expect_refused(engine.dealloc_pd(rig.a.pd), CommandStatus::res_busy);
  ASSERT_TRUE(engine.dereg_mr(rig.a.key));
  EXPECT_TRUE(engine.dealloc_pd(rig.a.pd));
}

TEST_F(ControlTest, WhatIsNotThereIsNotFound) {
  expect_refused(engine.dealloc_pd(99), CommandStatus::bad_res);
  expect_refused(engine.free_uar(99), CommandStatus::bad_res);
  expect_refused(engine.destroy_cq(99), CommandStatus::bad_res);
  expect_refused(engine.destroy_qp(99), CommandStatus::bad_res);
  expect_refused(engine.query_qp(99), CommandStatus::bad_res);
  expect_refused(engine.modify_qp(99, {}), CommandStatus::bad_res);
  expect_refused(engine.dereg_mr(99), CommandStatus::bad_res);
  MrAttributes mr;
  mr.pd = 99;
  mr.length = 1;
  expect_refused(engine.reg_mr(mr), CommandStatus::bad_res);
  ASSERT_TRUE(engine.destroy_qp(rig.a.qpn));
  expect_refused(engine.destroy_qp(rig.a.qpn), CommandStatus::bad_res);
}

TEST_F(ControlTest, CompletionQueuesAreChecked) {
  EXPECT_TRUE(engine.create_cq(cq()));
  CqAttributes bad = cq();
  bad.log_entries = 23;
  expect_refused(engine.create_cq(bad), CommandStatus::bad_param);
  bad = cq();
  bad.entries = {};
  expect_refused(engine.create_cq(bad), CommandStatus::bad_param);
  bad = cq();
  bad.entries.value += 32;
  expect_refused(engine.create_cq(bad), CommandStatus::bad_param);
  bad = cq();
  bad.overrun_ignore = false;
  expect_refused(engine.create_cq(bad), CommandStatus::bad_param);
  bad.doorbell_record = {4};
  expect_refused(engine.create_cq(bad), CommandStatus::bad_param);
}

TEST_F(ControlTest, QueuePairsAreChecked) {
  EXPECT_TRUE(engine.create_qp(qp()));
  const auto refused = [&](auto change, CommandStatus status) {
    QpAttributes bad = qp();
    bad.has_receive_queue = true;
    change(bad);
    expect_refused(engine.create_qp(bad), status);
  };
  refused([](QpAttributes& a) { a.pd = 77; }, CommandStatus::bad_res);
  refused([](QpAttributes& a) { a.send_cq = 77; }, CommandStatus::bad_res);
  refused([](QpAttributes& a) { a.receive_cq = 77; }, CommandStatus::bad_res);
  refused([](QpAttributes& a) { a.uar = 77; }, CommandStatus::bad_res);
  refused([](QpAttributes& a) { a.log_send_wqebbs = 16; }, CommandStatus::bad_param);
  refused([](QpAttributes& a) { a.send_queue = {}; }, CommandStatus::bad_param);
  refused([](QpAttributes& a) { a.send_queue.value += 16; }, CommandStatus::bad_param);
  refused([](QpAttributes& a) { a.doorbell_record = {}; }, CommandStatus::bad_param);
  refused([](QpAttributes& a) { a.doorbell_record.value += 4; }, CommandStatus::bad_param);
  refused([](QpAttributes& a) { a.log_receive_wqes = 16; }, CommandStatus::bad_param);
  refused([](QpAttributes& a) { a.log_receive_stride = 3; }, CommandStatus::bad_param);
  refused([](QpAttributes& a) { a.log_receive_stride = 10; }, CommandStatus::bad_param);
  refused([](QpAttributes& a) { a.log_receive_stride = 64; }, CommandStatus::bad_param);
  refused([](QpAttributes& a) { a.receive_queue = {}; }, CommandStatus::bad_param);
  refused([](QpAttributes& a) { a.receive_queue.value += 8; }, CommandStatus::bad_param);
}

TEST_F(ControlTest, StatesFollowTheOneWay) {
  const QpNumber qpn = *engine.create_qp(qp());
  const auto to = [&](QpState state) {
    QpModify modify;
    modify.state = state;
    return static_cast<bool>(engine.modify_qp(qpn, modify));
  };
  const QpState all[] = {QpState::reset, QpState::init, QpState::rtr,
                         QpState::rts,   QpState::sqd,  QpState::err};
  // How to come to each state from reset.
  const std::vector<std::vector<QpState>> ways = {
      {},
      {QpState::init},
      {QpState::init, QpState::rtr},
      {QpState::init, QpState::rtr, QpState::rts},
      {QpState::init, QpState::rtr, QpState::rts, QpState::sqd},
      {QpState::err}};
  const auto is_legal = [&](std::size_t from, QpState next) {
    if (next == QpState::reset || next == QpState::err) return true;
    switch (all[from]) {
      case QpState::reset: return next == QpState::init;
      case QpState::init: return next == QpState::init || next == QpState::rtr;
      case QpState::rtr: return next == QpState::rts;
      case QpState::rts:
      case QpState::sqd: return next == QpState::rts || next == QpState::sqd;
      default: return false;
    }
  };
  for (std::size_t from = 0; from < ways.size(); ++from) {
    for (const QpState next : all) {
      ASSERT_TRUE(to(QpState::reset));
      for (const QpState step : ways[from]) ASSERT_TRUE(to(step));
      ASSERT_EQ(engine.query_qp(qpn)->state, all[from]);
      const bool legal = is_legal(from, next);
      EXPECT_EQ(to(next), legal) << qp_state_name(all[from]) << " to " << qp_state_name(next);
      EXPECT_EQ(engine.query_qp(qpn)->state, legal ? next : all[from]);
    }
  }
}

TEST_F(ControlTest, AttributesOutOfRangeAreRefused) {
  const QpNumber qpn = *engine.create_qp(qp());
  const auto refused = [&](QpState state, auto change) {
    QpModify modify;
    modify.state = QpState::reset;
    ASSERT_TRUE(engine.modify_qp(qpn, modify));
    for (const QpState step : {QpState::init, QpState::rtr, QpState::rts}) {
      modify.state = step;
      if (step == state) break;
      ASSERT_TRUE(engine.modify_qp(qpn, modify));
    }
    change(modify);
    expect_refused(engine.modify_qp(qpn, modify), CommandStatus::bad_param);
  };
  refused(QpState::rtr, [](QpModify& m) { m.log_rra_max = 8; });
  refused(QpState::rtr, [](QpModify& m) { m.min_rnr_nak = 32; });
  refused(QpState::rtr, [](QpModify& m) { m.log_msg_max = 31; });
  refused(QpState::rtr, [](QpModify& m) { m.next_receive_psn = 1 << 24; });
  refused(QpState::rtr, [](QpModify& m) { m.remote_qpn = 1 << 24; });
  refused(QpState::rts, [](QpModify& m) { m.log_sra_max = 8; });
  refused(QpState::rts, [](QpModify& m) { m.ack_timeout = 32; });
  refused(QpState::rts, [](QpModify& m) { m.retry_count = 8; });
  refused(QpState::rts, [](QpModify& m) { m.rnr_retry = 8; });
  refused(QpState::rts, [](QpModify& m) { m.next_send_psn = 1 << 24; });
}

TEST_F(ControlTest, BeforeRtsNothingIsSent) {
  QpModify modify;
  ASSERT_TRUE(engine.modify_qp(rig.a.qpn, modify));
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(engine.counters().packets_sent, 0u);
  EXPECT_EQ(engine.counters().dropped_doorbells, 1u);
}

TEST_F(ControlTest, AnnouncedBeforeRtsIsFoundAtRts) {
  QpModify modify;
  ASSERT_TRUE(engine.modify_qp(rig.a.qpn, modify));
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  QpModify limits;
  limits.access = Access::all;
  EngineRig::connect(rig.a, rig.b, limits, 0, 0x800000);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 1u);
}

TEST_F(ControlTest, ResetForgetsEverythingAndTheQueuePairWorksAgain) {
  for (int round = 0; round < 5; ++round) {
    Wqe bad = write_wqe(rig, 0, 0, 8);
    bad.body[0] = format::to_segment(format::remote_address(0, Be32{0}));
    rig.a.post(bad);
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.a.info().state, QpState::err);
    rig.a.send_cq.poll_all();
    for (Side* side : {&rig.a, &rig.b}) {
      QpModify modify;
      ASSERT_TRUE(side->engine.modify_qp(side->qpn, modify));
      EXPECT_EQ(side->info().first_error.syndrome, format::Syndrome::none);
      side->producer = 0;
      std::memset(side->record.data(), 0, side->record.size());
    }
    QpModify limits;
    limits.access = Access::all;
    EngineRig::connect(rig.a, rig.b, limits, 100, 200);
    EngineRig::connect(rig.b, rig.a, limits, 200, 100);
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    const auto cqe = rig.a.send_cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(opcode_of(*cqe), format::CqeOpcode::requester);
    rig.a.producer = 1;
  }
}

TEST_F(ControlTest, ADestroyedQueuePairsPeerGivesUp) {
  RigOptions options;
  options.settings.ack_timeout = 5;
  EngineRig other(options);
  ASSERT_TRUE(other.b.engine.destroy_qp(other.b.qpn));
  other.a.post(write_wqe(other, 0, 0, 8));
  other.a.ring();
  ASSERT_TRUE(other.run_until([&] { return other.a.info().state == QpState::err; }));
  EXPECT_EQ(other.a.info().first_error.syndrome, format::Syndrome::transport_retry_exceeded);
  EXPECT_GT(other.b.engine.counters().dropped_packets, 0u);
}

TEST_F(ControlTest, QueuePairNumbersRestBeforeTheyComeBack) {
  const QpNumber first = *engine.create_qp(qp());
  ASSERT_TRUE(engine.destroy_qp(first));
  for (int i = 0; i < 64; ++i) {
    const QpNumber next = *engine.create_qp(qp());
    EXPECT_NE(next, first);
    ASSERT_TRUE(engine.destroy_qp(next));
  }
}

TEST_F(ControlTest, ManyQueuePairsShareOneEngineFairly) {
  // One QP has a queue full of large WRITEs; another's small one does not wait for all of them.
  RigOptions options;
  options.wire.mtu = 4096;
  options.heap = 8 << 20;
  EngineRig fair(options);
  const QpNumber big = fair.a.qpn;
  QpAttributes attributes;
  Pages queue(64 * 64), record(8);
  const auto make = [&](Side& side) {
    attributes.pd = side.pd;
    attributes.send_cq = side.receive_cqn;
    attributes.uar = side.uar;
    attributes.send_queue = host_address(queue.data());
    attributes.log_send_wqebbs = 6;
    attributes.doorbell_record = host_address(record.data());
    return *side.engine.create_qp(attributes);
  };
  const QpNumber a_small = make(fair.a), b_small = make(fair.b);
  const auto connect = [](Side& side, QpNumber own, Side& peer, QpNumber theirs) {
    QpModify modify;
    modify.access = Access::all;
    modify.path.endpoint = peer.wire->endpoint();
    modify.remote_qpn = theirs;
    for (const QpState state : {QpState::init, QpState::rtr, QpState::rts}) {
      modify.state = state;
      ASSERT_TRUE(side.engine.modify_qp(own, modify));
    }
  };
  connect(fair.a, a_small, fair.b, b_small);
  connect(fair.b, b_small, fair.a, a_small);
  for (int i = 0; i < 32; ++i) fair.a.post(write_wqe(fair, 0, 0, 4 << 20));
  fair.a.ring();
  for (int i = 0; i < 10; ++i) fair.step();
  const format::Segment small[3] = {
      format::to_segment(
          format::control(Opcode::rdma_write, 0, 0, a_small, 3,
                          format::fm_ce_se(format::FenceMode::none, format::Completion::always))),
      fair.b.remote(0), fair.a.data(0, 8)};
  std::memcpy(queue.data(), small, sizeof small);
  fair.a.engine.doorbell(fair.a.uar, 0x800, format::doorbell_value(1, a_small));
  for (int i = 0; i < 100; ++i) fair.step();
  EXPECT_EQ(fair.a.engine.query_qp(a_small)->send_completed, 1u);
  EXPECT_LT(fair.a.engine.query_qp(big)->send_completed, 32u);
}

TEST(Control, AnEngineIsStartedByItsFirstConnection) {
  const auto fabric = LoopbackFabric::create();
  Side side({}, std::make_unique<HostDma>(), std::move(*fabric->attach()));
  QpModify modify;
  modify.state = QpState::init;
  ASSERT_TRUE(side.engine.modify_qp(side.qpn, modify));
  EXPECT_FALSE(side.engine.started());
  modify.state = QpState::rtr;
  ASSERT_TRUE(side.engine.modify_qp(side.qpn, modify));
  EXPECT_TRUE(side.engine.started());
}

}  // namespace
}  // namespace gdakit::softnic::test
