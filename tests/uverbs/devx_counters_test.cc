// Moderation of CQs by verbs and by commands, sets of counters, and what the port is asked for.
#include <cerrno>

#include <gtest/gtest.h>

#include "core/format/prm/counters.h"
#include "core/format/prm/vport.h"
#include "tests/uverbs/devx_client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;
using prm::Opcode;

struct UverbsDevxCounts : testing::Test {
  UverbsDevxCounts() { client.make_all(); }

  int moderate(std::uint32_t handle, std::uint16_t count, std::uint16_t period,
               std::uint32_t mask = 1) {
    ib_uverbs_ex_modify_cq request{};
    request.cq_handle = handle;
    request.attr_mask = mask;
    request.attr = {count, period};
    return WriteCall(kExtendedCommand | IB_USER_VERBS_EX_CMD_MODIFY_CQ)
        .core_in(request)
        .make(*client.context);
  }

  std::unique_ptr<Device> device = open_device(own_spec("devx-counts"));
  DevxClient client{*device};
};

TEST_F(UverbsDevxCounts, VerbsModerateACq) {
  ASSERT_EQ(moderate(client.send_cq.handle, 16, 100), 0);
  prm::Mailbox<prm::QueryCqOut> out;
  ASSERT_EQ(client.query(client.send_cq.handle, Opcode::query_cq, client.send_cq.number, out), 0);
  EXPECT_EQ(out.at(prm::QueryCqOut::cq_context).get(prm::Cqc::cq_max_count), 16u);
  EXPECT_EQ(out.at(prm::QueryCqOut::cq_context).get(prm::Cqc::cq_period), 100u);
  EXPECT_EQ(moderate(client.send_cq.handle, 0, 0), 0);
  EXPECT_EQ(moderate(client.send_cq.handle, 1, 0x1000), EINVAL) << "too long";
  EXPECT_EQ(moderate(client.send_cq.handle, 1, 1, 0), EINVAL);
  EXPECT_EQ(moderate(client.send_cq.handle, 1, 1, 3), EOPNOTSUPP);
  EXPECT_EQ(moderate(client.pd, 1, 1), EINVAL);
}

TEST_F(UverbsDevxCounts, CommandsModerateACqOfVerbs) {
  prm::Mailbox<prm::ModifyCqIn> in;
  in.set(prm::ModifyCqIn::cqn, client.send_cq.number);
  in.set(prm::ModifyCqIn::modify_field_select_resize_field_select, prm::kCqMaxCountField);
  in.at(prm::ModifyCqIn::cq_context).set(prm::Cqc::cq_max_count, 5);
  EXPECT_EQ(client.modify(client.send_cq.handle, Opcode::modify_cq, in), 0);
  EXPECT_EQ(client.modify(client.receive_cq.handle, Opcode::modify_cq, in), EINVAL);
  in.set(prm::MboxIn::op_mod, 1);  // to resize
  EXPECT_EQ(client.modify(client.send_cq.handle, Opcode::modify_cq, in), EREMOTEIO);
}

TEST_F(UverbsDevxCounts, ASetIsAskedAboutByItsHandle) {
  const DevxMade set = client.create(Opcode::alloc_q_counter, prm::Mailbox<prm::MboxIn>());
  ASSERT_EQ(set.error, 0);
  prm::Mailbox<prm::QueryQCounterIn> in;
  prm::Mailbox<prm::QueryQCounterOut> out;
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::query_q_counter));
  in.set(prm::QueryQCounterIn::counter_set_id, set.number);
  const auto ask = [&](std::size_t bytes) {
    return Call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY)
        .number(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, set.handle)
        .in_bytes(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, in.bytes().data(), bytes)
        .at(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, address_of(out.bytes().data()), out.bytes().size())
        .make(*client.context);
  };
  EXPECT_EQ(ask(prm::QueryQCounterIn::kBytes), 0);
  EXPECT_EQ(ask(prm::MboxIn::kBytes), EINVAL) << "it names none";
  in.set(prm::QueryQCounterIn::counter_set_id, set.number + 1);
  EXPECT_EQ(ask(prm::QueryQCounterIn::kBytes), EINVAL) << "another one";
  EXPECT_EQ(client.destroy_devx(set.handle), 0);
}

// The set is younger than the queue pair that counts in it, so that it goes later.
TEST_F(UverbsDevxCounts, ASetGoesWithItsContextThoughAQueuePairCountsInIt) {
  constexpr int kRounds = 300;  // more than there are sets
  for (int i = 0; i < kRounds; ++i) {
    DevxClient other(*device);
    other.make_all();
    const auto umem = other.make_umem(other.queues.get(), sizeof *other.queues, /*access=*/0);
    const DevxMade qp = other.create(Opcode::create_qp, other.qp_request(umem.number));
    ASSERT_EQ(qp.error, 0);
    const DevxMade set = other.create(Opcode::alloc_q_counter, prm::Mailbox<prm::MboxIn>());
    ASSERT_EQ(set.error, 0) << i;
    auto init = other.request(qp.number);
    init.at(prm::Rst2initQpIn::qpc).set(prm::Qpc::counter_set_id, set.number);
    ASSERT_EQ(other.modify(qp.handle, Opcode::rst2init_qp, init), 0);
  }
}

TEST_F(UverbsDevxCounts, ThePortIsAskedWithoutAnObject) {
  prm::Mailbox<prm::QueryNicVportContextIn> in;
  prm::Mailbox<prm::QueryNicVportContextOut> out;
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::query_nic_vport_context));
  ASSERT_EQ(client.general(in.bytes(), out.bytes()), 0);
  const auto context = out.at(prm::QueryNicVportContextOut::nic_vport_context);
  EXPECT_EQ(context.get(prm::NicVportContext::node_guid), device->identity().guid());
  EXPECT_EQ(context.get(prm::NicVportContext::roce_en), 1u);
  EXPECT_GT(context.get(prm::NicVportContext::mtu), device->mtu());
  prm::Mailbox<prm::QueryVportStateOut> state;
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::query_vport_state));
  ASSERT_EQ(client.general(in.bytes(), state.bytes()), 0);
  EXPECT_EQ(state.get(prm::QueryVportStateOut::state), 1u);
  device->set_port(false);
  ASSERT_EQ(client.general(in.bytes(), state.bytes()), 0);
  EXPECT_EQ(state.get(prm::QueryVportStateOut::state), 0u);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
