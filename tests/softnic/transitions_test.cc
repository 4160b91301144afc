// A queue pair's way through its states: which fields a transition takes, and what a send queue
// does in state sqd.
#include "backends/softnic/objects/transitions.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/engine/status_text.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

using format::Opcode;
using format::Syndrome;

void expect_modified(Side& side, const QpModify& modify) {
  const Outcome<> modified = side.engine.modify_qp(side.qpn, modify);
  ASSERT_TRUE(modified) << status_text(modified.status());
}

// Brings a queue pair that is in reset to the state that a row of the table begins with.
void bring_to(Side& side, QpState state) {
  constexpr QpState kWay[] = {QpState::init, QpState::rtr, QpState::rts, QpState::sqd};
  expect_modified(side, {});
  if (state == QpState::reset) return;
  for (const QpState step : kWay) {
    expect_modified(side, {.state = step});
    if (step == state) return;
  }
}

// ... or to state sqer, by a WQE that is none.
void bring_to_begin_of(EngineRig& rig, const TransitionRow& row) {
  const QpState from = row.from.value_or(QpState::rts);
  bring_to(rig.a, from == QpState::sqer ? QpState::rts : from);
  if (from != QpState::sqer) return;
  std::memset(rig.a.record.data(), 0, rig.a.record.size());
  rig.a.producer = 0;
  rig.a.post({.opcode = static_cast<Opcode>(0x77)});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  ASSERT_EQ(rig.a.info().state, QpState::sqer);
}

class TransitionsOf : public testing::TestWithParam<ServiceType> {};

TEST_P(TransitionsOf, EachTakesWhatItRequiresAndMayHaveAndNothingElse) {
  RigOptions options;
  options.service = GetParam();
  options.has_rq = GetParam() != ServiceType::dc;
  EngineRig rig(options);
  const auto tried = [&](const TransitionRow& row, QpFields given) {
    bring_to_begin_of(rig, row);
    return rig.a.engine.modify_qp(rig.a.qpn, {.state = row.to, .given = given}).status().syndrome;
  };
  for (const TransitionRow& row : transition_rows()) {
    // No reliable queue pair comes to sqer.
    const bool comes_to_it = !is_reliable(row.service) || row.from != QpState::sqer;
    if (row.service != GetParam() || !comes_to_it) continue;
    EXPECT_EQ(tried(row, row.required), CommandSyndrome::none);
    EXPECT_EQ(tried(row, row.required | row.optional), CommandSyndrome::none);
    for (const FieldRow& field : field_rows()) {
      const QpFields one{field.field};
      const bool required = row.required.has(field.field);
      const bool known = required || row.optional.has(field.field);
      EXPECT_EQ(tried(row, (row.required | row.optional).without(one)),
                required ? CommandSyndrome::modify_qp_field_missing : CommandSyndrome::none)
          << field.name;
      EXPECT_EQ(tried(row, row.required | one),
                known ? CommandSyndrome::none : CommandSyndrome::modify_qp_field_unknown)
          << field.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Transitions, TransitionsOf,
                         testing::Values(ServiceType::rc, ServiceType::uc, ServiceType::ud,
                                         ServiceType::dc));

TEST(Transitions, NoneLeadsToStateSqerAndOneLeadsOut) {
  for (const TransitionRow& row : transition_rows()) EXPECT_NE(row.to, QpState::sqer);
  for (const ServiceType service : {ServiceType::rc, ServiceType::uc, ServiceType::ud}) {
    const TransitionRow* const row = find_transition(service, QpState::sqer, QpState::rts);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->transition, Transition::sqerr2rts);
  }
}

TEST(Transitions, AnUnreliableConnectionHasAPeerAndNothingToRepeat) {
  const TransitionRow* const rtr = find_transition(ServiceType::uc, QpState::init, QpState::rtr);
  ASSERT_NE(rtr, nullptr);
  EXPECT_TRUE(rtr->required.has(QpField::remote_qpn));
  EXPECT_TRUE(rtr->required.has(QpField::next_receive_psn));
  for (const TransitionRow& row : transition_rows()) {
    if (is_reliable(row.service)) continue;
    for (const QpField field : {QpField::log_rra_max, QpField::min_rnr_nak, QpField::log_sra_max,
                                QpField::ack_timeout, QpField::retry_count, QpField::rnr_retry}) {
      EXPECT_FALSE((row.required | row.optional).has(field));
    }
  }
}

TEST(Transitions, ADatagramQueuePairNeedsAQkeyAndNoPeer) {
  const TransitionRow* const init = find_transition(ServiceType::ud, QpState::reset, QpState::init);
  ASSERT_NE(init, nullptr);
  EXPECT_TRUE(init->required.has(QpField::qkey));
  const TransitionRow* const rtr = find_transition(ServiceType::ud, QpState::init, QpState::rtr);
  ASSERT_NE(rtr, nullptr);
  EXPECT_TRUE(rtr->required.empty());
  const auto takes_qkey = [](const TransitionRow& row) {
    return (row.required | row.optional).has(QpField::qkey);
  };
  for (const TransitionRow& row : transition_rows()) {
    EXPECT_TRUE(row.service == ServiceType::ud || !takes_qkey(row)) << "others have none";
  }
}

TEST(Transitions, ARefusedOneChangesNothing) {
  EngineRig rig;
  QpModify modify{.state = QpState::rts};
  modify.given = QpFields{QpField::access, QpField::retry_count};
  EXPECT_FALSE(rig.b.engine.modify_qp(rig.b.qpn, modify));
  modify.given = QpFields{QpField::access, QpField::min_rnr_nak};
  modify.min_rnr_nak = 32;
  EXPECT_FALSE(rig.b.engine.modify_qp(rig.b.qpn, modify));
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().state, QpState::rts);
  EXPECT_EQ(rig.a.info().send_completed, 1u);
}

TEST(Transitions, RightsChangeInRtsAndFieldsNotGivenStay) {
  EngineRig rig;
  const auto syndrome_of_write = [&] {
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.ring();
    EXPECT_TRUE(rig.run());
    return rig.a.info().first_error.syndrome;
  };
  expect_modified(rig.b, {.state = QpState::rts});  // gives nothing
  EXPECT_EQ(syndrome_of_write(), Syndrome::none);
  QpModify rights{.state = QpState::rts, .given = QpFields{QpField::access}};
  rights.access = Access::remote_read;
  expect_modified(rig.b, rights);
  EXPECT_EQ(syndrome_of_write(), Syndrome::remote_invalid_request);
}

TEST(Transitions, RightsChangeInInitAndRtr) {
  EngineRig rig;
  const auto write_after = [&](QpFields given_to_init, QpFields given_to_rtr) {
    for (Side* side : {&rig.a, &rig.b}) {
      expect_modified(*side, {});
      std::memset(side->record.data(), 0, side->record.size());
      side->producer = 0;
    }
    const Side& peer = rig.a;
    QpModify modify;
    modify.path.endpoint = peer.wire->endpoint();
    modify.remote_qpn = peer.qpn;
    const auto step = [&](QpState state, Access access, QpFields given) {
      modify.state = state;
      modify.access = access;
      modify.given = given;
      expect_modified(rig.b, modify);
    };
    const QpFields rtr = find_transition(ServiceType::rc, QpState::init, QpState::rtr)->required;
    step(QpState::init, Access::none, {QpField::access, QpField::pkey});
    step(QpState::init, Access::all, given_to_init);
    step(QpState::rtr, Access::none, rtr | given_to_rtr);
    QpModify limits;
    EngineRig::connect(rig.a, rig.b, limits, 0, 0);
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.ring();
    EXPECT_TRUE(rig.run());
    return rig.a.info().first_error.syndrome;
  };
  EXPECT_EQ(write_after({}, {}), Syndrome::remote_invalid_request);
  EXPECT_EQ(write_after({QpField::access}, {}), Syndrome::none);
  EXPECT_EQ(write_after({QpField::access}, {QpField::access}), Syndrome::remote_invalid_request);
}

// min_rnr_nak is the code of the time for which the peer waits.
TEST(Transitions, TheRnrTimerChangesInRts) {
  for (const bool changed : {false, true}) {
    EngineRig rig;
    QpModify modify{.state = QpState::rts};
    modify.min_rnr_nak = 31;  // 491.52 ms, in place of 0.64 ms
    if (changed) modify.given = QpFields{QpField::min_rnr_nak};
    expect_modified(rig.b, modify);
    rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 8)}});
    rig.a.ring();
    for (int i = 0; i < 100; ++i) rig.step();
    const auto timer = rig.a.engine.next_timer_ns();
    ASSERT_TRUE(timer);
    EXPECT_EQ(*timer > rig.now_ns + 400'000'000, changed);
  }
}

class SqdTest : public testing::Test {
 protected:
  RigOptions options() {
    RigOptions options;
    options.wire.mtu = 256;
    options.wrap_wire = [this](std::unique_ptr<Wire> wire, int) -> std::unique_ptr<Wire> {
      return std::make_unique<LossyWire>(std::move(wire), Losses{.drop = [this](const Packet&) {
                                           return std::exchange(drops_next, false);
                                         }});
    };
    return options;
  }
  void to_sqd() { expect_modified(rig.a, {.state = QpState::sqd}); }
  void to_rts() { expect_modified(rig.a, {.state = QpState::rts}); }
  void post_write(std::uint32_t size) {
    rig.a.post(write_wqe(rig, 0, 0, size));
    rig.a.ring();
  }
  std::size_t told() const { return rig.a.events.of(EventKind::sq_drained).size(); }

  bool drops_next = false;
  EngineRig rig{options()};
};

TEST_F(SqdTest, AnIdleQueueIsDrainedAtOnce) {
  to_sqd();
  EXPECT_EQ(rig.a.info().state, QpState::sqd);
  EXPECT_TRUE(rig.a.info().sq_draining);
  ASSERT_TRUE(rig.run());
  EXPECT_FALSE(rig.a.info().sq_draining);
  ASSERT_EQ(told(), 1u);
  EXPECT_EQ(rig.a.events.of(EventKind::sq_drained)[0].number, rig.a.qpn);
}

TEST_F(SqdTest, WhatWasStartedCompletesAndTheRestWaitsForRts) {
  post_write(100'000);
  rig.a.engine.step(++rig.now_ns);  // begins it
  post_write(8);
  ASSERT_EQ(rig.a.info().send_started, 1u);
  to_sqd();
  EXPECT_EQ(rig.a.info().send_completed, 0u);
  EXPECT_EQ(told(), 0u);
  ASSERT_TRUE(rig.run());
  const QpInfo info = rig.a.info();
  EXPECT_EQ(info.send_completed, 1u);
  EXPECT_EQ(info.send_started, 1u);
  EXPECT_EQ(info.send_producer, 2u);  // doorbells are heard all the same
  EXPECT_FALSE(info.sq_draining);
  EXPECT_EQ(told(), 1u);
  post_write(8);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_completed, 1u);
  to_rts();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_completed, 3u);
  EXPECT_EQ(told(), 1u);
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 3u);
}

TEST_F(SqdTest, WhatWasStartedIsSentAgainWhenItIsLost) {
  drops_next = true;
  post_write(64);
  rig.a.engine.step(++rig.now_ns);
  ASSERT_EQ(rig.a.info().send_started, 1u);
  ASSERT_FALSE(drops_next);
  to_sqd();
  ASSERT_TRUE(rig.run());
  EXPECT_TRUE(rig.a.info().sq_draining);
  ASSERT_TRUE(rig.run_until([&] { return told() == 1; }));
  EXPECT_EQ(rig.a.info().send_completed, 1u);
  EXPECT_GT(rig.a.engine.counters().retries, 0u);
}

TEST_F(SqdTest, WhatTheRecordAloneAnnouncesIsFoundAndWaits) {
  to_sqd();
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.store_record();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_producer, 1u);
  EXPECT_EQ(rig.a.info().send_completed, 0u);
  to_rts();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_completed, 1u);
}

TEST_F(SqdTest, TheResponderWorksAsInRts) {
  to_sqd();
  rig.a.post_receive({format::data(rig.a.heap_address(0), Be32{rig.a.key}, 64)});
  rig.b.post({.opcode = Opcode::send, .body = {rig.b.data(0, 64)}});
  rig.b.post({.opcode = Opcode::rdma_read, .body = {rig.a.remote(0), rig.b.data(64, 64)}});
  rig.b.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.b.info().send_completed, 2u);
  EXPECT_EQ(rig.b.info().state, QpState::rts);
  EXPECT_EQ(rig.a.receive_cq.poll_all().size(), 1u);
}

TEST_F(SqdTest, LeftBeforeItIsDrainedItTellsNothing) {
  post_write(100'000);
  rig.a.engine.step(++rig.now_ns);
  to_sqd();
  to_rts();
  post_write(8);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_completed, 2u);
  EXPECT_FALSE(rig.a.info().sq_draining);
  EXPECT_EQ(told(), 0u);
  to_sqd();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(told(), 1u);
}

TEST_F(SqdTest, AWqeThatFailsWhileItDrainsFailsTheQueue) {
  Wqe bad = write_wqe(rig, 0, 0, 8);
  bad.body[0] = format::to_segment(format::remote_address(0, Be32{0}));
  rig.a.post(bad);
  rig.a.ring();
  rig.a.engine.step(++rig.now_ns);
  ASSERT_EQ(rig.a.info().send_started, 1u);
  post_write(8);
  to_sqd();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().state, QpState::err);
  EXPECT_FALSE(rig.a.info().sq_draining);
  EXPECT_EQ(told(), 0u);
  const auto cqes = rig.a.send_cq.poll_all();
  ASSERT_EQ(cqes.size(), 2u);
  EXPECT_EQ(syndrome_of(cqes[0]), Syndrome::remote_access);
  EXPECT_EQ(syndrome_of(cqes[1]), Syndrome::flushed);
}

// A WQE that is found bad stops the queue; back in rts it must not start those behind it.
TEST_F(SqdTest, ABadWqeIsNotForgottenBySqd) {
  post_write(100'000);
  Wqe bad = write_wqe(rig, 0, 0, 8);
  bad.body[1] = format::to_segment(format::data(0, Be32{0}, 8));
  rig.a.post(bad);
  post_write(8);
  for (int i = 0; i < 20; ++i) rig.a.engine.step(++rig.now_ns);
  ASSERT_EQ(rig.a.info().send_started, 2u);
  to_sqd();
  to_rts();
  for (int i = 0; i < 20; ++i) rig.a.engine.step(++rig.now_ns);
  EXPECT_EQ(rig.a.info().send_started, 2u);
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.a.send_cq.poll_all();
  ASSERT_EQ(cqes.size(), 3u);
  EXPECT_EQ(syndrome_of(cqes[1]), Syndrome::local_protection);
  EXPECT_EQ(syndrome_of(cqes[2]), Syndrome::flushed);
}

// What a peer does not answer is retried as often as sqd has it by now.
TEST_F(SqdTest, TheSendersLimitsChangeInSqd) {
  to_sqd();
  QpModify modify{.state = QpState::sqd};
  modify.given = QpFields{QpField::ack_timeout, QpField::retry_count};
  modify.ack_timeout = 5;
  modify.retry_count = 0;
  expect_modified(rig.a, modify);
  to_rts();
  drops_next = true;
  post_write(8);
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().state == QpState::err; }));
  EXPECT_EQ(rig.a.info().first_error.syndrome, Syndrome::transport_retry_exceeded);
  EXPECT_EQ(rig.a.engine.counters().retries, 0u);
}

}  // namespace
}  // namespace gdakit::softnic::test
