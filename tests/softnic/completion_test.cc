// Completion queues: owner bits, collapsing, completion control, overrun, flushing.
#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Completion;
using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;

TEST(Completions, CarryTheOwnerBitOfEachLap) {
  RigOptions options;
  options.log_cq = 2;
  EngineRig rig(options);
  for (std::uint64_t i = 0; i < 40; ++i) {
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.a.send_cq.at(i).op_own & 1, static_cast<int>((i >> 2) & 1));
    const auto cqe = rig.a.send_cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->wqe_counter, i);
  }
}

TEST(Completions, OfACollapsedQueueAllGoToTheFirstSlot) {
  RigOptions options;
  options.collapsed = true;
  options.log_cq = 0;
  EngineRig rig(options);
  std::uint16_t last = 0xffff;
  for (int batch = 0; batch < 2000; ++batch) {
    for (int i = 0; i < 40; ++i) {
      Wqe wqe = write_wqe(rig, 0, 0, 8);
      wqe.completion = i == 39 ? Completion::always : Completion::on_error;
      rig.a.post(wqe);
    }
    rig.a.ring();
    for (int i = 0; i < 20; ++i) {
      rig.step();
      const std::uint16_t counter = rig.a.send_cq.at(0).wqe_counter;
      // Monotone, modulo 2^16.
      ASSERT_LE(static_cast<std::uint16_t>(counter - last), 40u);
      last = counter;
    }
    ASSERT_EQ(last, static_cast<std::uint16_t>(rig.a.producer - 1));
  }
  EXPECT_EQ(rig.a.engine.counters().cqes, 2000u);
}

TEST(Completions, AShortOneBringsTheLastEightBytesOnly) {
  RigOptions options;
  options.collapsed = true;
  options.overrun_ignore = true;
  options.log_cq = 0;
  options.engine.short_cqes = true;
  EngineRig rig(options);
  const auto post = [&](std::uint64_t address) {
    rig.a.post(write_wqe(rig, address, 0, 8));
    rig.a.ring();
    rig.run();
    return rig.a.send_cq.at(0);
  };
  const format::Cqe64 first = post(0);
  const format::Cqe64 second = post(0);
  EXPECT_EQ(first.wqe_counter, 0);
  EXPECT_EQ(second.wqe_counter, 1);
  EXPECT_EQ(std::memcmp(&first, &second, format::kCqeTailOffset), 0);
  const format::Cqe64 failed = post(std::uint64_t{1} << 40);
  EXPECT_EQ(format::cqe_opcode(failed.op_own), CqeOpcode::requester_error);
  EXPECT_NE(std::memcmp(&first, &failed, format::kCqeTailOffset), 0);
}

TEST(CompletionControl, DecidesWhoMakesACqe) {
  for (const auto& [completion, makes] : {std::pair{Completion::on_error, false},
                                          {Completion::on_first_error, false},
                                          {Completion::always, true},
                                          {Completion::with_event, true}}) {
    for (const Opcode opcode : {Opcode::nop, Opcode::rdma_write, Opcode::rdma_read}) {
      EngineRig rig;
      Wqe wqe{.opcode = opcode, .completion = completion};
      if (opcode != Opcode::nop) wqe.body = {rig.b.remote(0), rig.a.data(0, 8)};
      rig.a.post(wqe);
      rig.a.ring();
      ASSERT_TRUE(rig.run());
      EXPECT_EQ(rig.a.send_cq.poll().has_value(), makes);
      EXPECT_EQ(rig.a.info().send_completed, 1u);
    }
  }
}

TEST(CompletionControl, FailuresAreAlwaysTold) {
  for (const Completion completion :
       {Completion::on_error, Completion::on_first_error, Completion::always}) {
    EngineRig rig;
    Wqe wqe = write_wqe(rig, 0, 0, 8);
    wqe.completion = completion;
    wqe.opmod = 3;
    rig.a.post(wqe);
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    const auto cqe = rig.a.send_cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(opcode_of(*cqe), CqeOpcode::requester_error);
  }
}

TEST(Completions, ComeInTheOrderOfTheirWqes) {
  EngineRig rig;
  std::vector<std::uint64_t> order;
  for (int i = 0; i < 10; ++i) {
    order.push_back(rig.a.post(read_wqe(rig, 0, 0, 5000)));
    order.push_back(rig.a.post({}));
    order.push_back(rig.a.post(write_wqe(rig, 0, 0, 8)));
    order.push_back(rig.a.post(fetch_add_wqe(rig, 0, 8, 1)));
  }
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  for (const std::uint64_t index : order) {
    const auto cqe = rig.a.send_cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->wqe_counter, index);
  }
}

TEST(Overrun, IsNoMatterWhereItIsIgnored) {
  RigOptions options;
  options.log_cq = 2;
  EngineRig rig(options);
  for (int i = 0; i < 10; ++i) rig.a.post({});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().state, QpState::rts);
  EXPECT_EQ(rig.a.engine.counters().cqes, 10u);
}

TEST(Overrun, BreaksTheQueuePairOtherwise) {
  RigOptions options;
  options.log_cq = 2;
  options.overrun_ignore = false;
  EngineRig rig(options);
  for (int i = 0; i < 4; ++i) rig.a.post({});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 4u);
  for (int i = 0; i < 5; ++i) rig.a.post({});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().state, QpState::err);
  // No CQE that is not consumed was overwritten.
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 4u);
  EXPECT_EQ(rig.a.engine.counters().cqes, 8u);
}

TEST(Overrun, BreaksEveryQueuePairOfTheCqAtOnce) {
  RigOptions options;
  options.log_cq = 2;
  options.overrun_ignore = false;
  EngineRig rig(options);
  const Pages record(8);
  QpAttributes attributes = rig.a.another_qp(record);
  const QpNumber idle = *rig.a.engine.create_qp(attributes);
  const QpNumber fresh = *rig.a.engine.create_qp(attributes);
  for (const QpState state : {QpState::init, QpState::rtr}) {
    QpModify modify;
    modify.state = state;
    ASSERT_TRUE(rig.a.engine.modify_qp(idle, modify));
  }
  for (int i = 0; i < 5; ++i) rig.a.post({});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().state, QpState::err);
  EXPECT_EQ(rig.a.engine.query_qp(idle)->state, QpState::err);
  EXPECT_EQ(rig.a.engine.query_qp(fresh)->state, QpState::reset);
}

TEST(Overrun, OfTheReceiveQueuesCqBreaksTheQueuePairToo) {
  RigOptions options;
  options.log_cq = 2;
  options.overrun_ignore = false;
  EngineRig rig(options);
  for (int i = 0; i < 6; ++i) {
    rig.b.post_receive({});
    Wqe wqe = write_wqe(rig, 0, 0, 8);
    wqe.opcode = Opcode::rdma_write_imm;
    wqe.completion = Completion::on_error;
    rig.a.post(wqe);
  }
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.b.info().state, QpState::err);
  EXPECT_EQ(rig.b.receive_cq.poll_all().size(), 4u);
}

TEST(Flush, CompletesEveryOutstandingWqeOfBothQueuesInOrder) {
  EngineRig rig;
  for (int i = 0; i < 3; ++i) rig.a.post_receive({});
  Wqe bad = write_wqe(rig, 0, 0, 8);
  bad.opmod = 1;
  rig.a.post(bad);
  std::vector<std::uint64_t> order;
  for (int i = 0; i < 5; ++i) {
    Wqe wqe = inline_write_wqe(rig, 0, std::vector<std::uint8_t>(i % 2 == 0 ? 4 : 60));
    wqe.completion = Completion::on_error;
    order.push_back(rig.a.post(wqe));
  }
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  ASSERT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::local_qp_operation);
  for (const std::uint64_t index : order) {
    const auto cqe = rig.a.send_cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(opcode_of(*cqe), CqeOpcode::requester_error);
    EXPECT_EQ(syndrome_of(*cqe), Syndrome::flushed);
    EXPECT_EQ(vendor_of(*cqe), format::vendor::flushed);
    EXPECT_EQ(cqe->wqe_counter, index);
  }
  EXPECT_FALSE(rig.a.send_cq.poll());
  for (std::uint16_t i = 0; i < 3; ++i) {
    const auto cqe = rig.a.receive_cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(opcode_of(*cqe), CqeOpcode::responder_error);
    EXPECT_EQ(syndrome_of(*cqe), Syndrome::flushed);
    EXPECT_EQ(cqe->wqe_counter, i);
  }
}

TEST(Flush, WhatIsPostedLaterToo) {
  EngineRig rig;
  QpModify modify;
  modify.state = QpState::err;
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, modify));
  ASSERT_TRUE(rig.run());
  EXPECT_FALSE(rig.a.send_cq.poll());
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  rig.a.post_receive({});
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::flushed);
  EXPECT_EQ(syndrome_of(*rig.a.receive_cq.poll()), Syndrome::flushed);
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.store_record();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::flushed);
  EXPECT_EQ(rig.b.word<std::uint64_t>(0), 0u);
}

TEST(Flush, ThousandsOfWqesAcrossTheQueuesEnd) {
  RigOptions options;
  options.log_sq = 10;
  options.log_cq = 12;
  EngineRig rig(options);
  for (int i = 0; i < 700; ++i) rig.a.post({});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  rig.a.send_cq.poll_all();
  QpModify modify;
  modify.state = QpState::err;
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, modify));
  for (int i = 0; i < 1024; ++i) rig.a.post({});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.a.send_cq.poll_all();
  ASSERT_EQ(cqes.size(), 1024u);
  for (std::uint16_t i = 0; i < 1024; ++i) EXPECT_EQ(cqes[i].wqe_counter, 700 + i);
}

}  // namespace
}  // namespace gdakit::softnic::test
