// Shared receive queues and XRC domains of firmware commands, and those of verbs beside them.
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <thread>

#include <gtest/gtest.h>

#include "core/format/prm/pd.h"
#include "core/format/prm/srq.h"
#include "tests/uverbs/devx_client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;
using prm::Opcode;
using prm::XrcSrqc;

struct UverbsDevxSrq : testing::Test {
  UverbsDevxSrq() { client.make_all(); }

  // Of XRC, by verbs, in a domain that is opened first.
  void make_xrc_srq() {
    ib_uverbs_open_xrcd request{};
    request.fd = ~0u;
    request.oflags = O_CREAT;
    ib_uverbs_open_xrcd_resp answer{};
    WriteCall open(IB_USER_VERBS_CMD_OPEN_XRCD);
    ASSERT_EQ(open.core_in(request).core_out(answer).make(*client.context), 0);
    mlx5_ib_create_srq driver{};
    driver.buf_addr = address_of(wqes.data());
    driver.db_addr = address_of(&record);
    driver.uidx = 0x77;
    Call call(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
    ASSERT_EQ(call.number(UVERBS_ATTR_CREATE_SRQ_HANDLE)
                  .number(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, client.pd)
                  .number(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, answer.xrcd_handle)
                  .number(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, client.receive_cq.handle)
                  .in(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, std::uint64_t{77})
                  .in(UVERBS_ATTR_CREATE_SRQ_TYPE, std::uint32_t{IB_UVERBS_SRQT_XRC})
                  .in(UVERBS_ATTR_CREATE_SRQ_MAX_WR, std::uint32_t{15})
                  .in(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, std::uint32_t{1})
                  .in(UVERBS_ATTR_CREATE_SRQ_LIMIT, std::uint32_t{2})
                  .in(UVERBS_ATTR_UHW_IN, driver)
                  .out(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, srqn)
                  .make(*client.context),
              0);
    srq = call.given(UVERBS_ATTR_CREATE_SRQ_HANDLE);
  }

  static prm::Mailbox<prm::CreateQpIn> target_request(std::uint32_t domain) {
    prm::Mailbox<prm::CreateQpIn> in;
    const auto context = in.at(prm::CreateQpIn::qpc);
    context.set(prm::Qpc::st, static_cast<std::uint64_t>(ServiceType::xrc));
    context.set(prm::Qpc::no_sq, 1);
    context.set(prm::Qpc::xrcd, domain);
    return in;
  }

  alignas(64) std::array<format::Segment, 32> wqes{};
  alignas(64) std::uint32_t record = 0x05000000;  // five are posted
  std::unique_ptr<Device> device = open_device(own_spec("devx-srq"));
  DevxClient client{*device};
  std::uint32_t srq = 0, srqn = 0;
};

TEST_F(UverbsDevxSrq, OneOfVerbsIsAskedAboutAndArmedByCommands) {
  make_xrc_srq();
  prm::Mailbox<prm::QueryXrcSrqOut> out;
  ASSERT_EQ(client.query(srq, Opcode::query_xrc_srq, srqn, out), 0);
  const auto context = out.at(prm::QueryXrcSrqOut::xrc_srq_context_entry);
  EXPECT_EQ(context.get(XrcSrqc::user_index), 0x77u);
  EXPECT_EQ(context.get(XrcSrqc::lwm), 2u);
  EXPECT_EQ(context.get(XrcSrqc::cqn), client.receive_cq.number);
  prm::Mailbox<prm::ArmXrcSrqIn> arm;
  arm.set(prm::MboxIn::op_mod, prm::kArmSrq);
  arm.set(prm::ArmXrcSrqIn::xrc_srqn, srqn);
  arm.set(prm::ArmXrcSrqIn::lwm, 4);
  ASSERT_EQ(client.modify(srq, Opcode::arm_xrc_srq, arm), 0);
  ib_uverbs_query_srq request{};
  request.srq_handle = srq;
  ib_uverbs_query_srq_resp answer{};
  WriteCall query(IB_USER_VERBS_CMD_QUERY_SRQ);
  ASSERT_EQ(query.core_in(request).core_out(answer).make(*client.context), 0);
  EXPECT_EQ(answer.srq_limit, 4u) << "as the command said";
  EXPECT_EQ(client.query(srq, Opcode::query_rmp, srqn, out), EINVAL) << "it is no pool";
  EXPECT_EQ(client.modify(srq, Opcode::arm_rq, arm), EINVAL);
}

TEST_F(UverbsDevxSrq, OfCommandsHasNoUmem) {
  for (const Opcode opcode : {Opcode::create_xrc_srq, Opcode::create_srq}) {
    const DevxMade made = client.create(opcode, prm::Mailbox<prm::CreateXrcSrqIn>());
    EXPECT_EQ(made.error, EREMOTEIO);
    EXPECT_EQ(made.status, CommandStatus::bad_param);
  }
}

TEST_F(UverbsDevxSrq, ADomainOfCommandsTakesTargets) {
  const DevxMade domain = client.create(Opcode::alloc_xrcd, prm::Mailbox<prm::MboxIn>());
  ASSERT_EQ(domain.error, 0);
  const DevxMade qp = client.create(Opcode::create_qp, target_request(domain.number));
  ASSERT_EQ(qp.error, 0);
  EXPECT_EQ(client.destroy_devx(domain.handle), EBUSY);
  EXPECT_EQ(client.destroy_devx(qp.handle), 0);
  EXPECT_EQ(client.destroy_devx(domain.handle), 0);
  EXPECT_EQ(client.destroy_devx(domain.handle), ENOENT);
}

// A counter of WQEBBs is none of a queue pair that has no send queue.
TEST_F(UverbsDevxSrq, ATargetOfCommandsSendsNothing) {
  const DevxMade domain = client.create(Opcode::alloc_xrcd, prm::Mailbox<prm::MboxIn>());
  ASSERT_EQ(domain.error, 0);
  const DevxMade qp = client.create(Opcode::create_qp, target_request(domain.number));
  ASSERT_EQ(qp.error, 0);
  ASSERT_EQ(client.modify(qp.handle, Opcode::rst2init_qp, client.request(qp.number)), 0);
  ASSERT_EQ(client.modify(qp.handle, Opcode::init2rtr_qp, client.rtr_request(qp.number, 7)), 0);
  auto rts = client.rts_request(qp.number);
  rts.at(prm::Rst2initQpIn::qpc).set(prm::Qpc::hw_sq_wqebb_counter, 0xffff);
  ASSERT_EQ(client.modify(qp.handle, Opcode::rtr2rts_qp, rts), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  prm::Mailbox<prm::QueryQpOut> out;
  ASSERT_EQ(client.query(qp.handle, Opcode::query_qp, qp.number, out), 0);
  EXPECT_EQ(out.at(prm::QueryQpOut::qpc).get(prm::Qpc::state),
            static_cast<std::uint64_t>(QpState::rts));
}

TEST_F(UverbsDevxSrq, ADomainGoesWithItsContext) {
  const DevxMade domain = client.create(Opcode::alloc_xrcd, prm::Mailbox<prm::MboxIn>());
  ASSERT_EQ(domain.error, 0);
  const Uid uid = client.context->uid();
  client.context.reset();
  EXPECT_EQ(errno_of(run_command_of(*device, uid, Opcode::dealloc_xrcd, domain.number)), EINVAL);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
