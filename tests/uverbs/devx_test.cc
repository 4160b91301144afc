// Firmware commands that clients give by themselves, and verbs' objects beside those that they
// make.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/uverbs/devx_client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;
using prm::Opcode;
using prm::Qpc;

struct UverbsDevx : testing::Test {
  UverbsDevx() {
    client.make_all();
    peer.make_all();
    EXPECT_EQ(client.destroy_qp(client.qp), 0);
    umem = client.make_umem(client.queues.get(), sizeof *client.queues, /*access=*/0);
    EXPECT_EQ(umem.error, 0);
  }
  DevxMade make_qp() {
    const DevxMade made = client.create(Opcode::create_qp, client.qp_request(umem.number));
    EXPECT_EQ(made.error, 0);
    client.qpn = made.number;
    return made;
  }
  // Both ends, of which the peer's is one of verbs.
  void connect(const DevxMade& qp) { connect(qp, peer); }
  void connect(const DevxMade& qp, Client& with) {
    auto init = client.request(qp.number);
    init.at(prm::Rst2initQpIn::qpc).set(Qpc::rwe, 1);
    ASSERT_EQ(client.modify(qp.handle, Opcode::rst2init_qp, init), 0);
    ASSERT_EQ(
        client.modify(qp.handle, Opcode::init2rtr_qp, client.rtr_request(qp.number, with.qpn)), 0);
    ASSERT_EQ(client.modify(qp.handle, Opcode::rtr2rts_qp, client.rts_request(qp.number)), 0);
    with.connect(client);
  }

  std::unique_ptr<Device> device = open_device(own_spec("devx"));
  DevxClient client{*device};
  Client peer{*device};
  DevxClient::Umem umem;
};

TEST_F(UverbsDevx, AQueuePairOfCommandsWorksWithOneOfVerbs) {
  connect(make_qp());
  std::memcpy(client.payload(), "by mailboxes", 12);
  client.post_write(0, 12, peer.address(100), peer.key);
  EXPECT_EQ(format::cqe_opcode(client.next(client.send_cq).op_own), format::CqeOpcode::requester);
  EXPECT_EQ(std::memcmp(peer.payload() + 100, "by mailboxes", 12), 0);
  client.post_receive(200, 64);
  std::memcpy(peer.payload(), "by verbs", 8);
  peer.post_send(0, 8);
  const format::Cqe64 cqe = client.next(client.receive_cq);
  EXPECT_EQ(format::cqe_opcode(cqe.op_own), format::CqeOpcode::responder_send);
  EXPECT_EQ(std::memcmp(client.payload() + 200, "by verbs", 8), 0);
}

TEST_F(UverbsDevx, AQueuePairOfVerbsIsChangedAndAskedAboutByCommands) {
  ASSERT_EQ(peer.destroy_qp(peer.qp), 0);
  client.qp = client.make_qp();
  ASSERT_EQ(client.modify(client.to_init()), 0);
  ASSERT_EQ(
      client.modify(client.qp, Opcode::init2rtr_qp, client.rtr_request(client.qpn, client.qpn)), 0);
  EXPECT_EQ(client.query().qp_state, 2) << "RTR";
  EXPECT_EQ(client.query().dest_qp_num, client.qpn) << "as the command said";
  EXPECT_EQ(client.query().path_mtu, 3);
  prm::Mailbox<prm::QueryQpOut> out;
  ASSERT_EQ(client.query(client.qp, Opcode::query_qp, client.qpn, out), 0);
  const auto context = out.at(prm::QueryQpOut::qpc);
  EXPECT_EQ(context.get(Qpc::state), static_cast<std::uint64_t>(QpState::rtr));
  EXPECT_EQ(context.get(Qpc::remote_qpn), client.qpn);
  EXPECT_EQ(context.get(Qpc::rwe), 1u) << "as verbs said";
  EXPECT_EQ(context.get(Qpc::user_index), 0x123u);
}

TEST_F(UverbsDevx, ARefusedCommandIsAnsweredAndSaysSo) {
  auto in = client.qp_request(umem.number + 7);
  const DevxMade made = client.create(Opcode::create_qp, in);
  EXPECT_EQ(made.error, EREMOTEIO);
  EXPECT_EQ(made.status, CommandStatus::bad_res);
  const DevxMade qp = make_qp();
  EXPECT_EQ(client.modify(qp.handle, Opcode::rtr2rts_qp, client.rts_request(qp.number)), EREMOTEIO);
}

// DOCA takes the port from there.
TEST_F(UverbsDevx, AQuestionTellsOfThePortOnceItHasOne) {
  const DevxMade qp = make_qp();
  prm::Mailbox<prm::QueryQpOut> out;
  const auto port = [&] {
    EXPECT_EQ(client.query(qp.handle, Opcode::query_qp, qp.number, out), 0);
    return out.at(prm::QueryQpOut::qpc).at(Qpc::primary_address_path).get(prm::Ads::vhca_port_num);
  };
  EXPECT_EQ(port(), 0u);
  connect(qp);
  EXPECT_EQ(port(), 1u);
}

// As DOCA makes it that only receives: of what it has not it names nothing.
TEST_F(UverbsDevx, WithoutASendQueueItNeedsNoSendCq) {
  auto in = client.qp_request(umem.number);
  in.at(prm::CreateQpIn::qpc).set(Qpc::no_sq, 1);
  in.at(prm::CreateQpIn::qpc).set(Qpc::cqn_snd, 0);
  const DevxMade qp = client.create(Opcode::create_qp, in);
  ASSERT_EQ(qp.error, 0);
  client.qpn = qp.number;
  connect(qp);
  // Nor does it send what its client announces nevertheless.
  client.post_send(0, 8);
  client.post_receive(200, 64);
  std::memcpy(peer.payload(), "by verbs", 8);
  peer.post_send(0, 8);
  EXPECT_EQ(format::cqe_opcode(client.next(client.receive_cq).op_own),
            format::CqeOpcode::responder_send);
  EXPECT_EQ(std::memcmp(client.payload() + 200, "by verbs", 8), 0);
  EXPECT_EQ(client.destroy_devx(qp.handle), 0);
  in.at(prm::CreateQpIn::qpc).set(Qpc::no_sq, 0);
  EXPECT_EQ(client.create(Opcode::create_qp, in).status, CommandStatus::bad_res);
}

// Its WQEs would fail later, as NCCL's that count.
TEST_F(UverbsDevx, WhatWaitsForOtherQueuesIsRefused) {
  auto in = client.qp_request(umem.number);
  in.at(prm::CreateQpIn::qpc).set(Qpc::cd_master, 1);
  const DevxMade made = client.create(Opcode::create_qp, in);
  EXPECT_EQ(made.error, EREMOTEIO);
  EXPECT_EQ(made.status, CommandStatus::bad_param);
}

TEST_F(UverbsDevx, OfAnotherClientsObjectsNothingIsFound) {
  DevxClient other(*device);
  other.make_all();
  auto in = client.qp_request(umem.number);
  in.at(prm::CreateQpIn::qpc).set(Qpc::pd, other.pd_number());
  EXPECT_EQ(client.create(Opcode::create_qp, in).status, CommandStatus::bad_res);
  in = client.qp_request(umem.number);
  in.at(prm::CreateQpIn::qpc).set(Qpc::cqn_snd, other.send_cq.number);
  EXPECT_EQ(client.create(Opcode::create_qp, in).status, CommandStatus::bad_res);
  EXPECT_EQ(other.create(Opcode::create_qp, other.qp_request(umem.number)).status,
            CommandStatus::bad_res);
}

TEST_F(UverbsDevx, AHandleStandsForItsOwnObjectAlone) {
  const DevxMade qp = make_qp();
  client.qp = client.make_qp();
  EXPECT_EQ(client.modify(client.qp, Opcode::rst2init_qp, client.request(qp.number)), EINVAL);
  EXPECT_EQ(client.modify(client.send_cq.handle, Opcode::rst2init_qp, client.request(qp.number)),
            EINVAL);
  EXPECT_EQ(client.modify(0x7777, Opcode::rst2init_qp, client.request(qp.number)), ENOENT);
  EXPECT_EQ(client.modify(qp.handle, Opcode::create_qp, client.request(qp.number)), EINVAL);
  prm::Mailbox<prm::QueryQpOut> out;
  EXPECT_EQ(client.query(qp.handle, Opcode::query_qp, client.qpn, out), EINVAL);
  EXPECT_EQ(client.query(qp.handle, Opcode::qp_2err, qp.number, out), EINVAL);
  EXPECT_EQ(client.destroy_devx(client.qp), ENOENT) << "one of verbs";
  EXPECT_EQ(client.destroy_qp(qp.handle), ENOENT) << "one of commands";
}

TEST_F(UverbsDevx, WhatIsUsedStays) {
  const DevxMade qp = make_qp();
  EXPECT_EQ(client.destroy_cq(client.send_cq.handle), EBUSY);
  EXPECT_EQ(client.destroy_pd(client.pd), EBUSY);
  EXPECT_EQ(client.destroy_uar(client.uar), EBUSY);
  EXPECT_EQ(client.destroy_umem(umem.handle), EBUSY);
  EXPECT_EQ(client.destroy_devx(qp.handle), 0);
  EXPECT_EQ(client.destroy_devx(qp.handle), ENOENT);
  EXPECT_EQ(client.destroy_umem(umem.handle), 0);
  EXPECT_EQ(client.destroy_umem(umem.handle), ENOENT);
  EXPECT_EQ(client.destroy_cq(client.send_cq.handle), 0);
}

TEST_F(UverbsDevx, AQueuePairThatIsResetIsAsItWasMade) {
  const DevxMade qp = make_qp();
  connect(qp);
  client.post_receive(0, 64);
  peer.post_send(0, 8);
  client.next(client.receive_cq);
  prm::Mailbox<prm::QueryQpOut> out;
  ASSERT_EQ(client.query(qp.handle, Opcode::query_qp, qp.number, out), 0);
  const auto context = out.at(prm::QueryQpOut::qpc);
  EXPECT_EQ(context.get(Qpc::remote_qpn), peer.qpn);
  EXPECT_EQ(context.get(Qpc::hw_rq_counter), 1u);
  EXPECT_EQ(context.get(Qpc::sw_rq_counter), 1u);
  ASSERT_EQ(
      client.modify(qp.handle, Opcode::qp_2rst, DevxClient::question(Opcode::qp_2rst, qp.number)),
      0);
  ASSERT_EQ(client.query(qp.handle, Opcode::query_qp, qp.number, out), 0);
  EXPECT_EQ(context.get(Qpc::state), 0u);
  for (const std::uint64_t is_none :
       {context.get(Qpc::remote_qpn), context.get(Qpc::mtu), context.get(Qpc::rwe),
        context.get(Qpc::retry_count), context.get(Qpc::hw_rq_counter),
        context.at(Qpc::primary_address_path).get(prm::Ads::src_addr_index)}) {
    EXPECT_EQ(is_none, 0u);
  }
  for (const std::uint8_t byte : context.at(Qpc::primary_address_path).at(prm::Ads::rgid_rip)) {
    EXPECT_EQ(byte, 0);
  }
  EXPECT_EQ(context.get(Qpc::user_index), 0xffffffu) << "as it was made";
}

// Its payload may still be the peer's to read: the reset is answered all the same.
TEST_F(UverbsDevx, AResetIsDoneThoughThePeerStandsStill) {
  std::unique_ptr<Device> far = open_device(own_spec("devx"));
  Client stopped{*far};
  stopped.make_all();
  const DevxMade qp = make_qp();
  connect(qp, stopped);
  far->nic().pause();
  client.post_write(0, kPayloadBytes, stopped.address(0), stopped.key);
  EXPECT_EQ(
      client.modify(qp.handle, Opcode::qp_2rst, DevxClient::question(Opcode::qp_2rst, qp.number)),
      0);
  prm::Mailbox<prm::QueryQpOut> out;
  ASSERT_EQ(client.query(qp.handle, Opcode::query_qp, qp.number, out), 0);
  EXPECT_EQ(out.at(prm::QueryQpOut::qpc).get(Qpc::state), 0u);
  far->nic().resume();
  EXPECT_EQ(client.destroy_devx(qp.handle), 0);
  EXPECT_EQ(client.destroy_umem(umem.handle), 0);
}

TEST_F(UverbsDevx, UmemsAreChecked) {
  EXPECT_EQ(client.make_umem(client.queues.get(), 0).error, EINVAL);
  EXPECT_EQ(client.make_umem(reinterpret_cast<const void*>(kNowhere), 64).error, EFAULT);
  EXPECT_EQ(client.make_umem(client.queues.get(), 64, /*access=*/1u << 30).error, EINVAL);
  EXPECT_EQ(client.make_umem(client.queues.get(), 64, IB_UVERBS_ACCESS_REMOTE_WRITE).error, EINVAL);
  EXPECT_EQ(client
                .make_umem(client.queues.get(), 64,
                           IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_LOCAL_WRITE)
                .error,
            0);
}

TEST_F(UverbsDevx, ACqOfCommandsIsChecked) {
  prm::Mailbox<prm::CreateCqIn> in;
  const auto context = in.at(prm::CreateCqIn::cqc);
  context.set(prm::Cqc::log_cq_size, 2);
  context.set(prm::Cqc::uar_page, client.uar_number);
  context.set(prm::Cqc::dbr_umem_id, umem.number);
  in.set(prm::CreateCqIn::cq_umem_id, umem.number);
  EXPECT_EQ(client.create(Opcode::create_cq, in).error, ENOENT) << "of no event queue";
  std::uint32_t eqn = 0;
  Call query(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN);
  ASSERT_EQ(query.in(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, std::uint32_t{0})
                .out(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, eqn)
                .make(*client.context),
            0);
  context.set(prm::Cqc::c_eqn, eqn);
  EXPECT_EQ(client.create(Opcode::create_cq, in).status, CommandStatus::bad_param)
      << "the NIC would write to what is registered for reading";
  const auto writable = client.make_umem(client.queues.get(), sizeof *client.queues);
  context.set(prm::Cqc::dbr_umem_id, writable.number);
  context.set(prm::Cqc::dbr_addr, offsetof(QueueMemory, record));
  in.set(prm::CreateCqIn::cq_umem_id, writable.number);
  const DevxMade cq = client.create(Opcode::create_cq, in);
  EXPECT_EQ(cq.error, 0);
  prm::Mailbox<prm::QueryCqOut> out;
  EXPECT_EQ(client.query(cq.handle, Opcode::query_cq, cq.number, out), 0);
  EXPECT_EQ(out.at(prm::QueryCqOut::cq_context).get(prm::Cqc::log_cq_size), 2u);
}

TEST_F(UverbsDevx, OnlyWhatTheKernelLetsThroughIsAGeneralCommand) {
  prm::Mailbox<prm::QueryQpOut> out;
  const auto query = DevxClient::question(Opcode::query_qp, client.qpn);
  EXPECT_EQ(client.general(query.bytes(), out.bytes()), EINVAL);
  const auto pd = DevxClient::question(Opcode::alloc_pd, 0);
  EXPECT_EQ(client.general(pd.bytes(), out.bytes()), EINVAL);
  EXPECT_EQ(client.create(Opcode::query_qp, query).error, EINVAL);
}

TEST_F(UverbsDevx, WithoutItNoCommandIsTaken) {
  Client plain(*device);
  plain.make_all();
  const auto in = DevxClient::question(Opcode::alloc_pd, 0);
  prm::Mailbox<prm::MboxOut> out;
  Call call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE);
  EXPECT_EQ(call.number(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE)
                .in_bytes(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, in.bytes().data(), 16)
                .at(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, address_of(out.bytes().data()), 16)
                .make(*plain.context),
            EINVAL);
}

TEST_F(UverbsDevx, AnObjectWhoseAnswerCannotBeWrittenIsNotThere) {
  auto in = client.qp_request(umem.number);
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::create_qp));
  const auto before = device->nic().count().queues.size();
  EXPECT_EQ(Call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE)
                .number(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE)
                .in_bytes(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, in.bytes().data(), in.bytes().size())
                .at(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, kNowhere, 16)
                .make(*client.context),
            EFAULT);
  EXPECT_EQ(device->nic().count().queues.size(), before);
}

TEST_F(UverbsDevx, AContextEndsWithEverythingOpen) {
  for (int i = 0; i < 3; ++i)
    connect(make_qp()), peer.destroy_qp(peer.qp), peer.qp = peer.make_qp();
  client.context.reset();
  peer.context.reset();
  EXPECT_TRUE(device->nic().count().queues.empty());
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
