// Sets of counters, and how often a CQ tells: what commands say of them.
#include <array>

#include <gtest/gtest.h>

#include "backends/softnic/firmware/object_mailbox.h"
#include "core/format/prm/counters.h"
#include "tests/softnic/firmware_rig.h"

namespace gdakit::softnic::test {
namespace {

using prm::Opcode;
using prm::Qpc;
using prm::QueryQCounterIn;
using prm::QueryQCounterOut;
using Sy = CommandSyndrome;

class FirmwareCounters : public testing::Test {
 protected:
  std::uint8_t alloc() {
    prm::Mailbox<prm::MboxIn> in;
    prm::Mailbox<prm::AllocQCounterOut> out;
    EXPECT_EQ(side.run(Opcode::alloc_q_counter, in, out), CommandStatus::ok);
    return static_cast<std::uint8_t>(out.get(prm::AllocQCounterOut::counter_set_id));
  }
  CommandStatus command(Opcode opcode, std::uint32_t number) {
    prm::Mailbox<ObjectIn> in;
    prm::Mailbox<prm::MboxOut> out;
    in.set(ObjectIn::number, number);
    return side.run(opcode, in, out);
  }
  CommandStatus query(std::uint8_t set, prm::Mailbox<QueryQCounterOut>& out, bool clear = false) {
    prm::Mailbox<QueryQCounterIn> in;
    in.set(QueryQCounterIn::counter_set_id, set);
    in.set(QueryQCounterIn::clear, clear ? 1 : 0);
    return side.run(Opcode::query_q_counter, in, out);
  }
  std::uint64_t writes(std::uint8_t set, bool clear = false) {
    prm::Mailbox<QueryQCounterOut> out;
    EXPECT_EQ(query(set, out, clear), CommandStatus::ok);
    return out.get(QueryQCounterOut::rx_write_requests);
  }
  // In place of the rig's queue pair, one that counts in the set.
  void make_qp(std::uint8_t set) {
    EXPECT_EQ(command(Opcode::destroy_qp, side.qpn), CommandStatus::ok);
    auto request = side.qp_request();
    request.at(prm::CreateQpIn::qpc).set(Qpc::counter_set_id, set);
    side.make_qp(request);
  }
  void connect_and_write(int times) {
    rig.one.connect(side);
    side.connect(rig.one);
    for (int i = 0; i < times; ++i) rig.one.write(0, side, 0, 8);
    rig.run();
  }

  FirmwareRig rig;
  FirmwareSide& side = rig.other;
};

TEST_F(FirmwareCounters, ASetCountsWhatItsQueuePairsDo) {
  const std::uint8_t set = alloc(), other = alloc();
  EXPECT_NE(set, other);
  make_qp(set);
  connect_and_write(3);
  EXPECT_EQ(writes(set), 3u);
  EXPECT_EQ(writes(other), 0u);
  EXPECT_EQ(writes(set, /*clear=*/true), 3u);
  EXPECT_EQ(writes(set), 0u);
  rig.one.write(0, side, 0, 8);
  rig.run();
  EXPECT_EQ(writes(set), 1u);
  EXPECT_EQ(command(Opcode::destroy_qp, side.qpn), CommandStatus::ok);
  EXPECT_EQ(writes(set), 1u) << "as of one that is there";
}

TEST_F(FirmwareCounters, AQueuePairMayJoinOnItsWayToInit) {
  const std::uint8_t set = alloc();
  prm::Mailbox<Qpc> context;
  context.set(Qpc::rwe, 1);
  context.set(Qpc::counter_set_id, set + 1);
  EXPECT_EQ(side.modify(Opcode::rst2init_qp, context), CommandStatus::bad_res);
  context.set(Qpc::counter_set_id, set);
  EXPECT_EQ(side.modify(Opcode::rst2init_qp, context), CommandStatus::ok);
  EXPECT_EQ(side.query().at(prm::QueryQpOut::qpc).get(Qpc::counter_set_id), set);
  EXPECT_EQ(command(Opcode::dealloc_q_counter, set), CommandStatus::res_busy);
}

TEST_F(FirmwareCounters, AQueuePairThatGoesToAnotherSetLeavesItsCountBehind) {
  const std::uint8_t set = alloc(), other = alloc();
  make_qp(set);
  connect_and_write(3);
  ASSERT_EQ(command(Opcode::qp_2rst, side.qpn), CommandStatus::ok);
  prm::Mailbox<Qpc> context;
  context.set(Qpc::counter_set_id, other);
  ASSERT_EQ(side.modify(Opcode::rst2init_qp, context), CommandStatus::ok);
  EXPECT_EQ(writes(set), 3u);
  EXPECT_EQ(writes(other), 0u);
  EXPECT_EQ(command(Opcode::dealloc_q_counter, set), CommandStatus::ok);
}

TEST_F(FirmwareCounters, ASetStaysAsLongAsAQueuePairCountsInIt) {
  const std::uint8_t set = alloc();
  make_qp(set);
  EXPECT_EQ(command(Opcode::dealloc_q_counter, set), CommandStatus::res_busy);
  EXPECT_EQ(command(Opcode::destroy_qp, side.qpn), CommandStatus::ok);
  EXPECT_EQ(command(Opcode::dealloc_q_counter, set), CommandStatus::ok);
  EXPECT_EQ(command(Opcode::dealloc_q_counter, set), CommandStatus::bad_res);
  prm::Mailbox<QueryQCounterOut> out;
  EXPECT_EQ(query(set, out), CommandStatus::bad_res);
  EXPECT_EQ(query(0, out), CommandStatus::bad_res);
  auto request = side.qp_request();
  request.at(prm::CreateQpIn::qpc).set(Qpc::counter_set_id, set);
  prm::Mailbox<prm::CreateQpOut> made;
  EXPECT_EQ(side.run(Opcode::create_qp, request, made), CommandStatus::bad_res);
}

TEST_F(FirmwareCounters, ThereAreSoManySetsAndNoMore) {
  for (std::uint32_t i = 0; i < kMostCounterSets; ++i) alloc();
  prm::Mailbox<prm::MboxIn> in;
  prm::Mailbox<prm::AllocQCounterOut> out;
  EXPECT_EQ(side.run(Opcode::alloc_q_counter, in, out), CommandStatus::lim_err);
  EXPECT_EQ(command(Opcode::dealloc_q_counter, 7), CommandStatus::ok);
  EXPECT_EQ(alloc(), 7);
}

TEST_F(FirmwareCounters, OfAnotherUidIsNotFound) {
  const std::uint8_t set = alloc();
  prm::Mailbox<QueryQCounterIn> in;
  prm::Mailbox<QueryQCounterOut> out;
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::query_q_counter));
  in.set(prm::MboxIn::uid, kUid + 1);
  in.set(QueryQCounterIn::counter_set_id, set);
  EXPECT_EQ(side.firmware.execute(in.bytes(), out.bytes()), CommandStatus::bad_res);
}

class FirmwareModifyCq : public testing::Test {
 protected:
  CommandStatus modify(std::uint64_t fields, std::uint64_t period, std::uint64_t count,
                       std::uint64_t op_mod = 0) {
    prm::Mailbox<prm::ModifyCqIn> in;
    prm::Mailbox<prm::MboxOut> out;
    in.set(prm::MboxIn::op_mod, op_mod);
    in.set(prm::ModifyCqIn::cqn, cqn);
    in.set(prm::ModifyCqIn::modify_field_select_resize_field_select, fields);
    in.at(prm::ModifyCqIn::cq_context).set(prm::Cqc::cq_period, period);
    in.at(prm::ModifyCqIn::cq_context).set(prm::Cqc::cq_max_count, count);
    return rig.one.run(Opcode::modify_cq, in, out);
  }
  std::array<std::uint64_t, 2> period_and_count() {
    prm::Mailbox<prm::QueryCqIn> in;
    prm::Mailbox<prm::QueryCqOut> out;
    in.set(prm::QueryCqIn::cqn, cqn);
    EXPECT_EQ(rig.one.run(Opcode::query_cq, in, out), CommandStatus::ok);
    const auto context = out.at(prm::QueryCqOut::cq_context);
    return {context.get(prm::Cqc::cq_period), context.get(prm::Cqc::cq_max_count)};
  }
  using Values = std::array<std::uint64_t, 2>;

  FirmwareRig rig;
  CqNumber cqn = rig.one.cqn;
};

TEST_F(FirmwareModifyCq, ChangesTheFieldsThatItSelects) {
  EXPECT_EQ(modify(1, 7, 9), CommandStatus::ok);
  EXPECT_EQ(period_and_count(), (Values{7, 0}));
  EXPECT_EQ(modify(2, 3, 9), CommandStatus::ok);
  EXPECT_EQ(period_and_count(), (Values{7, 9}));
  EXPECT_EQ(modify(3, 0, 0), CommandStatus::ok);
  EXPECT_EQ(period_and_count(), (Values{0, 0}));
}

TEST_F(FirmwareModifyCq, RefusesAllOthers) {
  EXPECT_EQ(modify(0, 1, 1), CommandStatus::bad_param);
  EXPECT_EQ(modify(4, 1, 1), CommandStatus::bad_param) << "oi";
  EXPECT_EQ(modify(1, 1, 1, /*op_mod=*/1), CommandStatus::bad_param) << "to resize";
  cqn += 1;
  EXPECT_EQ(modify(1, 1, 1), CommandStatus::bad_res);
  cqn -= 1;
  EXPECT_EQ(period_and_count(), (Values{0, 0}));
}

}  // namespace
}  // namespace gdakit::softnic::test
