// What an engine tells beside CQEs, each thing once: of completion queues, of a connection, and of
// queue pairs that failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Opcode;
using format::Syndrome;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kNoSuchPlace = std::uint64_t{1} << 40;

// A WRITE and others that the peer refuses: no key of its names the place.
Wqe astray(Wqe wqe) {
  wqe.body[0] = format::to_segment(format::remote_address(kNoSuchPlace, Be32{0xdeadbe00}));
  return wqe;
}

RigOptions small_cqs() {
  RigOptions options;
  options.log_cq = 2;
  options.overrun_ignore = false;
  return options;
}

void run_with(EngineRig& rig, const Wqe& wqe) {
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
}

TEST(Events, NothingIsToldOfWhatSucceeds) {
  EngineRig rig;
  for (int i = 0; i < 20; ++i) run_with(rig, write_wqe(rig, 0, 0, 8));
  EXPECT_THAT(rig.a.events.take(), IsEmpty());
  EXPECT_THAT(rig.b.events.take(), IsEmpty());
}

TEST(Events, AnOverrunIsToldOnceAndOfEachQueuePair) {
  EngineRig rig(small_cqs());
  const Pages record(8);
  QpAttributes attributes = rig.a.another_qp(record);
  const QpNumber idle = *rig.a.engine.create_qp(attributes);
  const QpNumber fresh = *rig.a.engine.create_qp(attributes);
  attributes.send_cq = rig.a.receive_cqn;
  const QpNumber elsewhere = *rig.a.engine.create_qp(attributes);
  QpModify modify;
  modify.state = QpState::init;
  for (const QpNumber qpn : {idle, elsewhere}) {
    ASSERT_TRUE(rig.a.engine.modify_qp(qpn, modify));
  }
  for (int i = 0; i < 8; ++i) rig.a.post({});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const std::vector<Event> events = rig.a.events.take();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0], (Event{EventKind::cq_error, rig.a.send_cqn, kCqOverrun}));
  EXPECT_THAT(std::vector(events.begin() + 1, events.end()),
              UnorderedElementsAre(Event{EventKind::qp_fatal, rig.a.qpn},
                                   Event{EventKind::qp_fatal, idle}));
  EXPECT_EQ(rig.a.engine.query_qp(fresh)->state, QpState::reset);
  EXPECT_EQ(rig.a.engine.query_qp(elsewhere)->state, QpState::init);
  EXPECT_EQ(rig.a.engine.query_cq(rig.a.send_cqn)->status, CqStatus::overflow);
  EXPECT_EQ(rig.a.engine.query_cq(rig.a.receive_cqn)->status, CqStatus::ok);
}

TEST(Events, AQueuePairThatComesToAnOverrunCqFailsWithItsFirstCqe) {
  EngineRig rig(small_cqs());
  for (int i = 0; i < 8; ++i) rig.a.post({});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  rig.a.events.take();
  rig.a.send_cq.poll_all();
  QpModify modify;
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, modify));
  rig.a.producer = 0;
  rig.a.store_record();
  EngineRig::connect(rig.a, rig.b, {}, 0, 0);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().state, QpState::rts);
  run_with(rig, {});
  EXPECT_EQ(rig.a.info().state, QpState::err);
  EXPECT_THAT(rig.a.events.take(), ElementsAre(Event{EventKind::qp_fatal, rig.a.qpn}));
}

TEST(Events, AnOverrunOfTheReceiveSideIsTold) {
  EngineRig rig(small_cqs());
  for (int i = 0; i < 6; ++i) {
    rig.b.post_receive({});
    Wqe wqe = write_wqe(rig, 0, 0, 8);
    wqe.opcode = Opcode::rdma_write_imm;
    wqe.completion = format::Completion::on_error;
    rig.a.post(wqe);
  }
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(rig.b.events.take(),
              ElementsAre(Event{EventKind::cq_error, rig.b.receive_cqn, kCqOverrun},
                          Event{EventKind::qp_fatal, rig.b.qpn}));
}

TEST(Events, AQueuePairThatHadFailedIsNotToldOfForItsOverrunCq) {
  EngineRig rig(small_cqs());
  QpModify modify;
  modify.state = QpState::err;
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, modify));
  for (int i = 0; i < 8; ++i) rig.a.post({});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(rig.a.events.take(),
              ElementsAre(Event{EventKind::cq_error, rig.a.send_cqn, kCqOverrun}));
}

// Takes b's queue pair back to state rtr, and a's to rts.
void reconnect_to_rtr(EngineRig& rig) {
  QpModify modify;
  modify.access = Access::all;
  for (Side* side : {&rig.a, &rig.b}) {
    const Side& peer = side == &rig.a ? rig.b : rig.a;
    modify.path.endpoint = peer.wire->endpoint();
    modify.remote_qpn = peer.qpn;
    for (const QpState state : {QpState::reset, QpState::init, QpState::rtr}) {
      modify.state = state;
      ASSERT_TRUE(side->engine.modify_qp(side->qpn, modify));
    }
  }
  modify.state = QpState::rts;
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, modify));
  rig.a.producer = 0;
  rig.a.store_record();
}

TEST(Events, TheFirstPacketInStateRtrIsToldOnce) {
  EngineRig rig;
  for (int lap = 0; lap < 2; ++lap) {
    reconnect_to_rtr(rig);
    ASSERT_TRUE(rig.run());
    EXPECT_THAT(rig.b.events.take(), IsEmpty());
    run_with(rig, write_wqe(rig, 0, 0, 8));
    EXPECT_THAT(rig.b.events.take(),
                ElementsAre(Event{EventKind::communication_established, rig.b.qpn}));
    run_with(rig, write_wqe(rig, 0, 0, 8));
    EXPECT_THAT(rig.b.events.take(), IsEmpty());
  }
  EXPECT_THAT(rig.a.events.take(), IsEmpty());
}

TEST(Events, APacketOfAnotherNicThanThePeersEstablishesNothing) {
  EngineRig rig;
  reconnect_to_rtr(rig);
  QpModify modify;
  for (const QpState state : {QpState::reset, QpState::init, QpState::rtr}) {
    modify.state = state;
    modify.path.endpoint = rig.a.wire->endpoint() + 7;
    modify.remote_qpn = rig.a.qpn;
    ASSERT_TRUE(rig.b.engine.modify_qp(rig.b.qpn, modify));
  }
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  rig.run(2000);
  EXPECT_THAT(rig.b.events.take(), IsEmpty());
}

TEST(Events, ARequestForForeignMemoryIsToldAtTheResponder) {
  for (const int operation : {0, 1, 2}) {
    EngineRig rig;
    const Wqe wqes[] = {write_wqe(rig, 0, 0, 8), read_wqe(rig, 0, 0, 8),
                        fetch_add_wqe(rig, 0, 8, 1)};
    for (int i = 0; i < 3; ++i) rig.a.post(astray(wqes[operation]));
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::remote_access);
    EXPECT_THAT(rig.b.events.take(), ElementsAre(Event{EventKind::qp_access_error, rig.b.qpn}));
    EXPECT_THAT(rig.a.events.take(), IsEmpty());  // its CQE tells
  }
}

TEST(Events, ARequestThatIsNotAllowedIsToldAtTheResponder) {
  RigOptions options;
  options.qp_access = Access::none;
  for (const int operation : {0, 1, 2}) {
    EngineRig rig(options);
    const Wqe wqes[] = {write_wqe(rig, 0, 0, 8), read_wqe(rig, 0, 0, 8),
                        fetch_add_wqe(rig, 0, 8, 1)};
    run_with(rig, wqes[operation]);
    EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::remote_invalid_request);
    EXPECT_THAT(rig.b.events.take(), ElementsAre(Event{EventKind::qp_invalid_request, rig.b.qpn}));
    EXPECT_THAT(rig.a.events.take(), IsEmpty());
  }
}

// The receive WQE is at fault, and its CQE says so.
TEST(Events, WhatTheReceiveWqesCqeTellsIsNotToldTwice) {
  for (const bool bad_key : {false, true}) {
    EngineRig rig;
    rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{bad_key ? 0u : rig.b.key}, 4)});
    Wqe wqe = write_wqe(rig, 0, 0, 8);
    wqe.opcode = Opcode::send;
    wqe.body.erase(wqe.body.begin());
    run_with(rig, wqe);
    EXPECT_EQ(syndrome_of(*rig.b.receive_cq.poll()),
              bad_key ? Syndrome::local_protection : Syndrome::local_length);
    EXPECT_EQ(rig.b.info().state, QpState::err);
    EXPECT_THAT(rig.b.events.take(), IsEmpty());
  }
}

TEST(Events, ALocalFaultAndAModifyAreNotTold) {
  EngineRig rig;
  Wqe bad = write_wqe(rig, 0, 0, 8);
  bad.opmod = 3;
  run_with(rig, bad);
  EXPECT_EQ(rig.a.info().state, QpState::err);
  QpModify modify;
  modify.state = QpState::err;
  ASSERT_TRUE(rig.b.engine.modify_qp(rig.b.qpn, modify));
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(rig.a.events.take(), IsEmpty());
  EXPECT_THAT(rig.b.events.take(), IsEmpty());
}

TEST(Events, NobodyNeedListen) {
  RigOptions options = small_cqs();
  options.listens = false;
  options.armable = true;
  EngineRig rig(options);
  rig.a.arm(rig.a.send_cq, rig.a.send_cqn);
  run_with(rig, astray(write_wqe(rig, 0, 0, 8)));
  EXPECT_EQ(rig.b.info().state, QpState::err);
  EXPECT_EQ(rig.a.engine.query_cq(rig.a.send_cqn)->armed, CqArmed::fired);
  EXPECT_EQ(rig.a.engine.query_cq(rig.a.send_cqn)->last_notified_index, 1u);
  for (int i = 0; i < 8; ++i) rig.a.post({});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.engine.query_cq(rig.a.send_cqn)->status, CqStatus::overflow);
}

}  // namespace
}  // namespace gdakit::softnic::test
