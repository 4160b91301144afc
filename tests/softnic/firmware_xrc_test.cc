// Mailboxes of XRC: initiators and targets (domains and shared receive queues:
// firmware_srq_test.cc).
#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "core/format/srq.h"
#include "tests/softnic/firmware_rig.h"

namespace gdakit::softnic::test {
namespace {

using prm::CreateQpIn;
using prm::Qpc;

constexpr std::uint64_t kXrc = 3, kShared = 1;

class FirmwareXrc : public testing::Test {
 protected:
  prm::Mailbox<CreateQpIn> initiator() const {
    auto request = rig.one.qp_request();
    request.at(CreateQpIn::qpc).set(Qpc::st, kXrc);
    return request;
  }
  static prm::Mailbox<CreateQpIn> target(XrcdNumber domain) {
    prm::Mailbox<CreateQpIn> request;
    request.at(CreateQpIn::qpc).set(Qpc::st, kXrc);
    request.at(CreateQpIn::qpc).set(Qpc::no_sq, 1);
    request.at(CreateQpIn::qpc).set(Qpc::xrcd, domain);
    return request;
  }
  // Of the other side, with one WQE posted: all of its heap.
  SrqNumber make_srq() {
    FirmwareSide& side = rig.other;
    const format::Segment wqe = side.data(0, 0x2000);
    std::memcpy(side.memory.data() + kRmpAt + sizeof(format::SrqNextSegment), &wqe, sizeof wqe);
    const Be32 posted{1};
    std::memcpy(side.memory.data() + kRmpRecordAt, &posted, sizeof posted);
    auto request = side.srq_request(domain);
    prm::Mailbox<prm::CreateXrcSrqOut> out;
    EXPECT_EQ(side.run(prm::Opcode::create_xrc_srq, request, out, Sender::kernel),
              CommandStatus::ok);
    return static_cast<SrqNumber>(out.get(prm::CreateXrcSrqOut::xrc_srqn));
  }
  CommandStatus refused(FirmwareSide& side, prm::Mailbox<CreateQpIn> request) {
    prm::Mailbox<prm::CreateQpOut> out;
    const CommandStatus status = side.run(prm::Opcode::create_qp, request, out);
    syndrome = static_cast<CommandSyndrome>(out.get(prm::MboxOut::syndrome));
    return status;
  }

  FirmwareRig rig;
  XrcdNumber domain = *rig.other.engine.alloc_xrcd();
  CommandSyndrome syndrome = CommandSyndrome::none;
};

TEST_F(FirmwareXrc, AMessageGoesFromAnInitiatorToATarget) {
  const SrqNumber srq = make_srq();
  auto request = initiator();
  // As drivers say it, of a shared receive queue that is not theirs.
  request.at(CreateQpIn::qpc).set(Qpc::rq_type, kShared);
  request.at(CreateQpIn::qpc).set(Qpc::srqn_rmpn_xrqn, 99);
  rig.one.make_qp(request);
  rig.other.make_qp(target(domain));
  rig.one.connect(rig.other);
  rig.other.connect(rig.one);
  std::memset(rig.one.heap.data(), 'x', 100);
  rig.one.post(std::array{rig.one.control(format::Opcode::send, 3),
                          format::to_segment(format::XrcSegment{Be32{srq}, {}}),
                          rig.one.data(0, 100)});
  rig.run();
  EXPECT_EQ(format::cqe_opcode(rig.one.cqe(0).op_own), format::CqeOpcode::requester);
  const format::Cqe64 cqe = rig.other.cqe(0);
  EXPECT_EQ(format::cqe_opcode(cqe.op_own), format::CqeOpcode::responder_send);
  EXPECT_EQ(cqe.srqn_uidx, 0x55u);
  EXPECT_EQ(cqe.sop_drop_qpn, rig.other.qpn);
  EXPECT_EQ(std::memcmp(rig.one.heap.data(), rig.other.heap.data(), 100), 0);
}

TEST_F(FirmwareXrc, ATargetNeedsADomain) {
  for (const XrcdNumber absent : {0u, domain + 1}) {
    EXPECT_EQ(refused(rig.other, target(absent)), CommandStatus::bad_res);
    EXPECT_EQ(syndrome, CommandSyndrome::create_qp_xrc_domain);
  }
}

TEST_F(FirmwareXrc, AnInitiatorHasNoReceiveQueue) {
  auto request = initiator();
  request.at(CreateQpIn::qpc).set(Qpc::rq_type, 0);
  request.at(CreateQpIn::qpc).set(Qpc::log_rq_size, 2);  // the send queue is aligned
  EXPECT_EQ(refused(rig.one, request), CommandStatus::bad_param);
  EXPECT_EQ(syndrome, CommandSyndrome::create_qp_initiator_receives);
}

}  // namespace
}  // namespace gdakit::softnic::test
