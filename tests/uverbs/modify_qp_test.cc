// Queue pairs from state to state, and what query_qp tells of them.
#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/transition_masks.h"
#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

struct UverbsModifyQp : testing::Test {
  UverbsModifyQp() { client.make_all(); }

  void expect_state(std::uint8_t state) {
    const ib_uverbs_query_qp_resp told = client.query();
    EXPECT_EQ(told.qp_state, state);
    EXPECT_EQ(told.cur_qp_state, state);
  }
  void to_init() { ASSERT_EQ(client.modify(client.to_init()), 0); }
  void to_rtr() {
    to_init();
    ASSERT_EQ(client.modify(client.to_rtr(client.qpn)), 0);
  }
  void to_rts() {
    to_rtr();
    ASSERT_EQ(client.modify(client.to_rts()), 0);
  }

  std::unique_ptr<Device> device = open_device();
  Client client{*device};
};

TEST_F(UverbsModifyQp, QueryGivesBackWhatWasMade) {
  const ib_uverbs_query_qp_resp told = client.query();
  EXPECT_EQ(told.qp_state, 0);
  EXPECT_EQ(told.max_send_wr, kQueue);
  EXPECT_EQ(told.max_recv_wr, kQueue);
  EXPECT_EQ(told.max_send_sge, 1u);
  EXPECT_EQ(told.max_recv_sge, 1u);
  EXPECT_EQ(told.max_inline_data, 28u);
  EXPECT_EQ(told.sq_sig_all, 0);
}

TEST_F(UverbsModifyQp, QueryGivesBackWhatWasSet) {
  to_rts();
  const ib_uverbs_query_qp_resp told = client.query();
  const ib_uverbs_modify_qp init = client.to_init(), rtr = client.to_rtr(client.qpn),
                            rts = client.to_rts();
  EXPECT_EQ(told.qp_state, 3);
  EXPECT_EQ(told.cur_qp_state, 3);
  EXPECT_EQ(told.sq_draining, 0);
  EXPECT_EQ(told.port_num, init.port_num);
  EXPECT_EQ(told.qp_access_flags, init.qp_access_flags);
  EXPECT_EQ(told.pkey_index, 0);
  EXPECT_EQ(told.path_mtu, rtr.path_mtu);
  EXPECT_EQ(told.dest_qp_num, client.qpn);
  EXPECT_EQ(told.rq_psn, rtr.rq_psn);
  EXPECT_EQ(told.max_dest_rd_atomic, rtr.max_dest_rd_atomic);
  EXPECT_EQ(told.min_rnr_timer, rtr.min_rnr_timer);
  EXPECT_EQ(std::memcmp(&told.dest, &rtr.dest, sizeof told.dest), 0);
  EXPECT_EQ(told.timeout, rts.timeout);
  EXPECT_EQ(told.retry_cnt, rts.retry_cnt);
  EXPECT_EQ(told.rnr_retry, rts.rnr_retry);
  EXPECT_EQ(told.sq_psn, rts.sq_psn);
  EXPECT_EQ(told.max_rd_atomic, rts.max_rd_atomic);
}

TEST_F(UverbsModifyQp, WhatIsNotInTheMaskStays) {
  to_rts();
  ib_uverbs_modify_qp request = client.to_state(3);
  request.attr_mask = attr::kMinRnrTimer;
  request.min_rnr_timer = 5;
  request.timeout = 30;
  request.dest_qp_num = 7;
  ASSERT_EQ(client.modify(request), 0);
  const ib_uverbs_query_qp_resp told = client.query();
  EXPECT_EQ(told.min_rnr_timer, 5);
  EXPECT_EQ(told.timeout, 14);
  EXPECT_EQ(told.dest_qp_num, client.qpn);
}

TEST_F(UverbsModifyQp, StatesComeInTheirOrder) {
  EXPECT_EQ(client.modify(client.to_rtr(client.qpn)), EINVAL);
  EXPECT_EQ(client.modify(client.to_rts()), EINVAL);
  to_init();
  expect_state(1);
  EXPECT_EQ(client.modify(client.to_rts()), EINVAL);
  expect_state(1);
  ASSERT_EQ(client.modify(client.to_rtr(client.qpn)), 0);
  expect_state(2);
  EXPECT_EQ(client.modify(client.to_init()), EINVAL);
  ASSERT_EQ(client.modify(client.to_rts()), 0);
  expect_state(3);
  ASSERT_EQ(client.modify(client.to_state(6)), 0);
  expect_state(6);
  EXPECT_EQ(client.modify(client.to_init()), EINVAL);
  ASSERT_EQ(client.modify(client.to_state(0)), 0);
  expect_state(0);
  EXPECT_EQ(client.modify(client.to_state(6)), EINVAL);
  expect_state(0);
}

TEST_F(UverbsModifyQp, StatesThatThereAreNotAreRefused) {
  for (const int state : {5, 7, 8, 255}) {
    EXPECT_EQ(client.modify(client.to_state(static_cast<std::uint8_t>(state))), EINVAL) << state;
  }
  to_rtr();
  ib_uverbs_modify_qp request = client.to_rts();
  request.attr_mask |= attr::kCurrentState;
  request.cur_qp_state = 9;
  EXPECT_EQ(client.modify(request), EINVAL);
}

TEST_F(UverbsModifyQp, ACurrentStateThatIsNotSoIsRefused) {
  to_rtr();
  ib_uverbs_modify_qp request = client.to_rts();
  request.attr_mask |= attr::kCurrentState;
  request.cur_qp_state = 3;
  EXPECT_EQ(client.modify(request), EINVAL);
  expect_state(2);
  request.cur_qp_state = 2;
  EXPECT_EQ(client.modify(request), 0);
}

// A client leaves whatever it likes in what its mask does not name.
TEST_F(UverbsModifyQp, OnlyWhatTheMaskNamesIsLookedAt) {
  ib_uverbs_modify_qp request = client.to_init();
  request.cur_qp_state = 0xaa;
  request.path_mtu = 0xaa;
  request.dest.port_num = 0xaa;
  request.dest.sgid_index = 0xaa;
  request.max_rd_atomic = 0xaa;
  EXPECT_EQ(client.modify(request), 0);
  ib_uverbs_modify_qp more = client.to_init();
  more.attr_mask &= ~attr::kState;
  more.qp_state = 0xaa;
  EXPECT_EQ(client.modify(more), 0);
  expect_state(1);
}

TEST_F(UverbsModifyQp, AMaskWithTooLittleOrTooMuchIsRefused) {
  ib_uverbs_modify_qp request = client.to_init();
  request.attr_mask &= ~attr::kPort;
  EXPECT_EQ(client.modify(request), EINVAL);
  request = client.to_init();
  request.attr_mask |= attr::kQkey;
  EXPECT_EQ(client.modify(request), EINVAL);
  expect_state(0);
  to_init();
  request = client.to_rtr(client.qpn);
  request.attr_mask &= ~attr::kPath;
  EXPECT_EQ(client.modify(request), EINVAL);
  expect_state(1);
  EXPECT_EQ(client.query().dest_qp_num, 0u);
}

struct Change {
  const char* name;
  void (*change)(ib_uverbs_modify_qp&);
};

TEST_F(UverbsModifyQp, ValuesThatThereAreNotAreRefused) {
  ib_uverbs_modify_qp request = client.to_init();
  request.port_num = 2;
  EXPECT_EQ(client.modify(request), EINVAL);
  request = client.to_init();
  request.pkey_index = 1;
  EXPECT_EQ(client.modify(request), EINVAL);
  to_init();
  const Change changes[] = {
      {"MTU 0", [](ib_uverbs_modify_qp& one) { one.path_mtu = 0; }},
      {"MTU 6", [](ib_uverbs_modify_qp& one) { one.path_mtu = 6; }},
      {"READs", [](ib_uverbs_modify_qp& one) { one.max_dest_rd_atomic = 17; }},
      {"port 0", [](ib_uverbs_modify_qp& one) { one.dest.port_num = 0; }},
      {"port 2", [](ib_uverbs_modify_qp& one) { one.dest.port_num = 2; }},
      {"no GRH", [](ib_uverbs_modify_qp& one) { one.dest.is_global = 0; }},
      {"GID", [](ib_uverbs_modify_qp& one) { one.dest.sgid_index = 4; }},
  };
  for (const Change& one : changes) {
    request = client.to_rtr(client.qpn);
    one.change(request);
    EXPECT_EQ(client.modify(request), EINVAL) << one.name;
    EXPECT_EQ(client.query().rq_psn, 0u) << one.name;
  }
  expect_state(1);
  ASSERT_EQ(client.modify(client.to_rtr(client.qpn)), 0);
  request = client.to_rts();
  request.max_rd_atomic = 17;
  EXPECT_EQ(client.modify(request), EINVAL);
  EXPECT_EQ(client.modify(client.to_rts()), 0);
}

TEST_F(UverbsModifyQp, ARemoteNumberHas24Bits) {
  to_init();
  EXPECT_EQ(client.modify(client.to_rtr(0xff000000 | client.qpn)), 0);
  ASSERT_EQ(client.modify(client.to_rts()), 0);
  client.post_receive(0, 64);
  client.post_send(64, 16);
  EXPECT_EQ(format::cqe_opcode(client.next(client.send_cq).op_own), format::CqeOpcode::requester);
}

TEST_F(UverbsModifyQp, TheLongerFormAnswersHowLongItIs) {
  ib_uverbs_ex_modify_qp request{};
  request.base = client.to_init();
  ib_uverbs_ex_modify_qp_resp answer{};
  mlx5_ib_modify_qp_resp driver{};
  WriteCall call(kExtendedCommand | IB_USER_VERBS_CMD_MODIFY_QP);
  ASSERT_EQ(
      call.core_in(request).core_out(answer).out(UVERBS_ATTR_UHW_OUT, driver).make(*client.context),
      0);
  EXPECT_EQ(answer.response_length, sizeof answer);
  EXPECT_EQ(driver.response_length, sizeof driver);
  expect_state(1);
}

TEST_F(UverbsModifyQp, UnknownQueuePairsAreRefused) {
  ib_uverbs_modify_qp request = client.to_init();
  request.qp_handle = client.pd;
  EXPECT_EQ(client.modify(request), EINVAL);
  ib_uverbs_query_qp query{};
  query.qp_handle = client.pd;
  ib_uverbs_query_qp_resp answer{};
  EXPECT_EQ(
      WriteCall(IB_USER_VERBS_CMD_QUERY_QP).core_in(query).core_out(answer).make(*client.context),
      EINVAL);
}

TEST_F(UverbsModifyQp, ADrainedQueueGoesOn) {
  to_rts();
  ASSERT_EQ(client.modify(client.to_state(4)), 0);
  expect_state(4);
  ASSERT_EQ(client.modify(client.to_state(3)), 0);
  expect_state(3);
}

// As hardware does, which learns by its retries that nobody is there.
TEST(UverbsModifyQpOnInfiniband, WithoutAGrhAnyLidIsTaken) {
  Spec spec = own_spec();
  spec.link = LinkLayer::infiniband;
  const std::unique_ptr<Device> device = open_device(spec);
  for (const std::uint16_t lid : {0, 1, 200}) {
    Client client(*device);
    client.make_all();
    ASSERT_EQ(client.modify(client.to_init()), 0);
    client.gid_index = 0;
    ib_uverbs_modify_qp rtr = client.to_rtr(client.qpn);
    rtr.dest.is_global = 0;
    rtr.dest.dlid = lid;
    EXPECT_EQ(client.modify(rtr), 0) << lid;
  }
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
