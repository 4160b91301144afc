// Receive memory pools that are made by mailboxes, and memory that commands name.
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "core/format/srq.h"
#include "tests/softnic/firmware_rig.h"

namespace gdakit::softnic::test {
namespace {

using prm::Opcode;
using prm::Rmpc;
using prm::Wq;

class FirmwareRmp : public testing::Test {
 protected:
  // The other side's queue pair takes its WQEs from a pool.
  void make_pool(std::uint32_t limit = 0) {
    auto in = rig.other.rmp_request();
    in.at(prm::CreateRmpIn::rmp_context).at(Rmpc::wq).set(Wq::lwm, limit);
    prm::Mailbox<prm::CreateRmpOut> out;
    ASSERT_EQ(rig.other.run(Opcode::create_rmp, in, out), CommandStatus::ok);
    rmpn = out.get(prm::CreateRmpOut::rmpn);
    auto qp = rig.other.qp_request();
    const auto context = qp.at(prm::CreateQpIn::qpc);
    context.set(prm::Qpc::rq_type, static_cast<std::uint64_t>(prm::RqType::shared));
    context.set(prm::Qpc::srqn_rmpn_xrqn, rmpn);
    context.set(prm::Qpc::no_sq, 1);
    rig.other.make_qp(qp);
    rig.one.connect(rig.other);
    rig.other.connect(rig.one);
  }
  // Behind the segment that WQEs of lists use.
  void post_receive(std::uint64_t to, std::uint32_t bytes) {
    const std::uint64_t slot = posted++ % (1u << kLogRmp);
    const format::Segment segment = rig.other.data(to, bytes);
    std::memcpy(rig.other.memory.data() + kRmpAt + (slot << kLogRmpStride) + sizeof segment,
                &segment, sizeof segment);
    const Be32 record{posted & 0xffff};
    std::memcpy(rig.other.memory.data() + kRmpRecordAt, &record, sizeof record);
  }
  prm::Mailbox<prm::QueryRmpOut> query() {
    prm::Mailbox<prm::QueryRmpIn> in;
    prm::Mailbox<prm::QueryRmpOut> out;
    in.set(prm::QueryRmpIn::rmpn, rmpn);
    EXPECT_EQ(rig.other.run(Opcode::query_rmp, in, out), CommandStatus::ok);
    return out;
  }
  CommandStatus arm(std::uint32_t limit) {
    prm::Mailbox<prm::ModifyRmpIn> in;
    prm::Mailbox<prm::MboxOut> out;
    in.set(prm::ModifyRmpIn::rmpn, rmpn);
    in.at(prm::ModifyRmpIn::bitmask).back() = prm::kRmpBitmaskLwm;
    in.at(prm::ModifyRmpIn::ctx).at(Rmpc::wq).set(Wq::lwm, limit);
    return rig.other.run(Opcode::modify_rmp, in, out);
  }
  CommandStatus destroy(Opcode opcode, std::uint64_t number) {
    prm::Mailbox<prm::DestroyRmpIn> in;  // as of any object
    prm::Mailbox<prm::MboxOut> out;
    in.set(prm::DestroyRmpIn::rmpn, number);
    return rig.other.run(opcode, in, out);
  }

  FirmwareRig rig;
  std::uint64_t rmpn = 0;
  std::uint32_t posted = 0;
};

TEST_F(FirmwareRmp, GivesWqesRoundAndRound) {
  make_pool();
  constexpr std::uint32_t kMessages = 20;  // more than twice as many as it holds
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    rig.one.heap.data()[i] = static_cast<std::uint8_t>(i + 1);
    post_receive(100 + i, 1);
    rig.one.send(i, 1);
    rig.run();
    const format::Cqe64 cqe = rig.other.cqe(i);
    ASSERT_EQ(format::cqe_opcode(cqe.op_own), format::CqeOpcode::responder_send) << i;
    EXPECT_EQ(cqe.wqe_counter, i) << "of a cyclic pool it counts";
  }
  EXPECT_EQ(std::memcmp(rig.one.heap.data(), rig.other.heap.data() + 100, kMessages), 0);
  const auto out = query();
  const auto context = out.at(prm::QueryRmpOut::rmp_context);
  EXPECT_EQ(context.get(Rmpc::state), static_cast<std::uint64_t>(prm::RmpState::ready));
  EXPECT_EQ(context.at(Rmpc::wq).get(Wq::hw_counter), kMessages);
  EXPECT_EQ(context.at(Rmpc::wq).get(Wq::sw_counter), kMessages);
  EXPECT_EQ(context.at(Rmpc::wq).get(Wq::log_wq_sz), kLogRmp);
}

TEST_F(FirmwareRmp, TellsOnceThatItHasFewerWqesThanItsLimit) {
  make_pool();
  for (int i = 0; i < 3; ++i) post_receive(0, 1);
  rig.run();
  EXPECT_EQ(arm(3), CommandStatus::ok);
  rig.run();
  EXPECT_EQ(query().at(prm::QueryRmpOut::rmp_context).at(Rmpc::wq).get(Wq::lwm), 3u);
  EXPECT_TRUE(rig.other.events.of(EventKind::srq_limit).empty());
  for (int i = 0; i < 2; ++i) rig.one.send(0, 1);
  rig.run();
  const auto told = rig.other.events.of(EventKind::srq_limit);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told.front().number, rmpn);
  EXPECT_EQ(query().at(prm::QueryRmpOut::rmp_context).at(Rmpc::wq).get(Wq::lwm), 0u);
  EXPECT_EQ(arm(9), CommandStatus::bad_param) << "more than it holds";
}

TEST_F(FirmwareRmp, MayBeMadeWithALimit) {
  make_pool(/*limit=*/2);
  EXPECT_EQ(query().at(prm::QueryRmpOut::rmp_context).at(Rmpc::wq).get(Wq::lwm), 2u);
}

TEST_F(FirmwareRmp, WithALimitBeyondItsSizeIsNotMade) {
  auto in = rig.other.rmp_request();
  in.at(prm::CreateRmpIn::rmp_context).at(Rmpc::wq).set(Wq::lwm, 9);
  prm::Mailbox<prm::CreateRmpOut> out;
  EXPECT_EQ(rig.other.run(Opcode::create_rmp, in, out), CommandStatus::bad_param);
  EXPECT_EQ(destroy(Opcode::destroy_rmp, 1), CommandStatus::bad_res) << "nothing is left of it";
}

TEST_F(FirmwareRmp, StaysAsLongAsAQueuePairTakesFromIt) {
  make_pool();
  EXPECT_EQ(destroy(Opcode::destroy_rmp, rmpn), CommandStatus::res_busy);
  EXPECT_EQ(destroy(Opcode::destroy_qp, rig.other.qpn), CommandStatus::ok);
  EXPECT_EQ(destroy(Opcode::destroy_rmp, rmpn), CommandStatus::ok);
  EXPECT_EQ(destroy(Opcode::destroy_rmp, rmpn), CommandStatus::bad_res);
}

TEST_F(FirmwareRmp, OfAUmemKeepsIt) {
  const UmemNumber umem = rig.other.firmware.add_umem({{host_address(&posted), 64}, kUid});
  EXPECT_EQ(rig.other.firmware.remove_umem(umem, kUid + 1).status().status, CommandStatus::bad_res);
  auto in = rig.other.rmp_request();
  in.at(prm::CreateRmpIn::rmp_context).at(Rmpc::wq).set(Wq::dbr_umem_id, umem);
  in.at(prm::CreateRmpIn::rmp_context).at(Rmpc::wq).set(Wq::dbr_addr, 0);
  prm::Mailbox<prm::CreateRmpOut> out;
  ASSERT_EQ(rig.other.run(Opcode::create_rmp, in, out), CommandStatus::ok);
  EXPECT_EQ(rig.other.firmware.remove_umem(umem, kUid).status().status, CommandStatus::res_busy);
  EXPECT_EQ(destroy(Opcode::destroy_rmp, out.get(prm::CreateRmpOut::rmpn)), CommandStatus::ok);
  EXPECT_TRUE(rig.other.firmware.remove_umem(umem, kUid));
}

TEST_F(FirmwareRmp, OfTheKernelsMayLieAtAnAddress) {
  auto in = rig.other.rmp_request();
  const auto wq = in.at(prm::CreateRmpIn::rmp_context).at(Rmpc::wq);
  wq.set(Wq::dbr_umem_valid, 0);
  wq.set(Wq::dbr_addr, host_address(rig.other.memory.data() + kRmpRecordAt).value);
  wq.set(Wq::wq_umem_valid, 0);
  wq.set(Wq::wq_umem_offset, host_address(rig.other.memory.data() + kRmpAt).value);
  prm::Mailbox<prm::CreateRmpOut> out;
  EXPECT_EQ(rig.other.run(Opcode::create_rmp, in, out), CommandStatus::bad_param) << "a user's";
  EXPECT_EQ(rig.other.firmware.execute(in.bytes(), out.bytes(), Sender::kernel), CommandStatus::ok);
}

}  // namespace
}  // namespace gdakit::softnic::test
