// Shared receive queues: who gets which WQE, where its bytes go, and what its CQE says.
#include "backends/softnic/queues/srq.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/softnic/srq_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using testing::IsEmpty;

bool same(const SrqRig& rig, std::size_t at_b, std::size_t at_a, std::size_t size) {
  return std::memcmp(rig.rig.b.heap.data() + at_b, rig.rig.a.heap.data() + at_a, size) == 0;
}

void fill_a(SrqRig& rig) { fill(rig.rig.a.heap.data(), rig.rig.a.heap.size() / 2, 1); }

TEST(Srq, AMessageTakesTheFirstWqeOfTheList) {
  SrqRig rig;
  fill_a(rig);
  EXPECT_EQ(rig.post(4096, 64), 0);
  rig.send(0, 0, 60);
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.received();
  ASSERT_EQ(cqes.size(), 1u);
  EXPECT_EQ(opcode_of(cqes[0]), CqeOpcode::responder_send);
  EXPECT_EQ(cqes[0].wqe_counter, 0);
  EXPECT_EQ(cqes[0].byte_cnt, 60u);
  EXPECT_EQ(cqes[0].srqn_uidx, SrqRig::kUserIndex);
  EXPECT_EQ(cqes[0].sop_drop_qpn, rig.pairs[0]->to);
  EXPECT_TRUE(same(rig, 4096, 0, 60));
  EXPECT_EQ(rig.rig.b.word<std::uint32_t>(4096 + 60), 0u);
  EXPECT_EQ(opcode_of(rig.rig.a.send_cq.poll().value()), CqeOpcode::requester);
  EXPECT_EQ(rig.info().posted, 1);
  EXPECT_EQ(rig.info().taken, 1);
}

// Each lap the client links its WQEs in another order, which those that are posted stand in. More
// than 65536 of them are posted.
TEST(Srq, FollowsTheListAsTheClientHasLinkedIt) {
  SrqRig rig;
  std::vector<std::uint16_t> first_lap, last_lap;
  std::uint64_t message = 0;
  for (int lap = 0; lap < 5000; ++lap) {
    std::vector<std::uint16_t> posted;
    for (int i = 0; i < 15; ++i) {
      const std::uint16_t index = rig.srq.post({rig.segment(std::size_t{8} * i, 8)});
      posted.push_back(index);
      rig.rig.a.word<std::uint64_t>(std::size_t{8} * i) = ++message;
      rig.send(0, std::size_t{8} * i, 8);
    }
    std::vector<std::uint16_t> taken;
    for (int steps = 0; taken.size() != posted.size(); ++steps) {
      ASSERT_LT(steps, 1000);
      rig.step();
      for (const auto& cqe : rig.received()) taken.push_back(cqe.wqe_counter);
    }
    ASSERT_EQ(taken, posted);
    for (std::size_t i = 0; i < 15; ++i) {
      ASSERT_EQ(rig.rig.b.word<std::uint64_t>(8 * i), message - 14 + i);
    }
    // Another number of places in each lap.
    std::rotate(taken.begin(), taken.begin() + lap % 13, taken.end());
    std::swap(taken[0], taken[7]);
    for (const std::uint16_t index : taken) rig.srq.free(index);
    if (lap == 0) first_lap = posted;
    last_lap = posted;
  }
  EXPECT_NE(first_lap, last_lap);
}

TEST(Srq, EachWqeGoesToOneOfItsQueuePairs) {
  constexpr std::size_t kPairs = 5, kEach = 6;
  SrqRig rig({.pairs = kPairs, .log_wqes = 5});
  fill_a(rig);
  for (std::size_t i = 0; i < kPairs * kEach; ++i) rig.post(i * 64, 64);
  for (std::size_t i = 0; i < kEach; ++i) {
    for (std::size_t pair = 0; pair < kPairs; ++pair) rig.send(pair, pair * 64, 64);
  }
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.received();
  ASSERT_EQ(cqes.size(), kPairs * kEach);
  std::set<std::uint16_t> taken;
  std::array<std::size_t, kPairs> each{};
  for (const auto& cqe : cqes) {
    ASSERT_EQ(opcode_of(cqe), CqeOpcode::responder_send);
    taken.insert(cqe.wqe_counter);
    const std::size_t pair = cqe.srqn_uidx - SrqRig::kUserIndex;
    ASSERT_LT(pair, kPairs);
    EXPECT_EQ(cqe.sop_drop_qpn, rig.pairs[pair]->to);
    EXPECT_TRUE(same(rig, std::size_t{cqe.wqe_counter} * 64, pair * 64, 64));
    ++each[pair];
  }
  EXPECT_EQ(taken.size(), kPairs * kEach);
  for (const std::size_t count : each) EXPECT_EQ(count, kEach);
}

TEST(Srq, AMessageOfManyPacketsKeepsItsWqe) {
  constexpr std::uint32_t kLong = 20'000;
  SrqRigOptions options{.pairs = 3};
  options.rig.wire.mtu = 256;
  options.rig.wire.slots = 8;
  SrqRig rig(options);
  fill_a(rig);
  for (std::size_t i = 0; i < 6; ++i) rig.post(i * kLong, kLong);
  for (const std::size_t pair : {0, 1, 2, 0, 1, 2}) {
    rig.send(pair, pair * kLong, kLong - static_cast<std::uint32_t>(pair));
  }
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.received();
  ASSERT_EQ(cqes.size(), 6u);
  for (const auto& cqe : cqes) {
    const std::size_t pair = cqe.srqn_uidx - SrqRig::kUserIndex;
    EXPECT_EQ(cqe.byte_cnt, kLong - pair);
    EXPECT_TRUE(same(rig, std::size_t{cqe.wqe_counter} * kLong, pair * kLong, kLong - pair));
  }
}

TEST(Srq, AMessageIsScatteredToAllDataSegments) {
  for (const std::uint32_t log_stride : {6u, 7u}) {  // three segments fill it, or have an end
    SrqRig rig({.log_stride = log_stride});
    fill_a(rig);
    rig.srq.post({rig.segment(1000, 10), rig.segment(100, 30), rig.segment(3000, 80)});
    rig.send(0, 0, 100);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.received().at(0).byte_cnt, 100u);
    EXPECT_TRUE(same(rig, 1000, 0, 10));
    EXPECT_TRUE(same(rig, 100, 10, 30));
    EXPECT_TRUE(same(rig, 3000, 40, 60));
    rig.srq.post({rig.segment(1000, 10), rig.segment(100, 30), rig.segment(3000, 80)});
    rig.send(0, 0, 121);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(syndrome_of(rig.received().at(0)), format::Syndrome::local_length);
  }
}

TEST(Srq, ImmediateDataArrivesAndAWriteTakesAWqeForIt) {
  SrqRig rig;
  fill_a(rig);
  rig.post(4096, 64);
  rig.post(8192, 64);
  rig.send(0, 0, 64, Opcode::send_imm, 0x11223344);
  rig.send(0, 64, 32, Opcode::rdma_write_imm, 0x55667788);
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.received();
  ASSERT_EQ(cqes.size(), 2u);
  EXPECT_EQ(opcode_of(cqes[0]), CqeOpcode::responder_send_imm);
  EXPECT_EQ(cqes[0].imm_inval_pkey, 0x11223344u);
  EXPECT_EQ(opcode_of(cqes[1]), CqeOpcode::responder_write_imm);
  EXPECT_EQ(cqes[1].imm_inval_pkey, 0x55667788u);
  EXPECT_EQ(cqes[1].wqe_counter, 1);
  EXPECT_EQ(cqes[1].byte_cnt, 32u);
  EXPECT_TRUE(same(rig, 64, 64, 32));
  EXPECT_EQ(rig.rig.b.word<std::uint64_t>(8192), 0u);
}

TEST(Srq, ACyclicOneIsTakenInTheOrderOfMemory) {
  for (const SrqForm form : {SrqForm::cyclic, SrqForm::basic_cyclic}) {
    SrqRig rig({.form = form, .log_wqes = 2, .log_stride = form == SrqForm::cyclic ? 5u : 4u});
    for (std::uint64_t i = 0; i < 70'000; ++i) {
      rig.srq.post({rig.segment(8 * (i % 4), 8)});
      rig.rig.a.word<std::uint64_t>(0) = i;
      rig.send(0, 0, 8);
      std::vector<format::Cqe64> cqes;
      for (int steps = 0; cqes.empty(); ++steps) {
        ASSERT_LT(steps, 100);
        rig.step();
        cqes = rig.received();
      }
      ASSERT_EQ(cqes[0].wqe_counter, static_cast<std::uint16_t>(i));
      ASSERT_EQ(rig.rig.b.word<std::uint64_t>(8 * (i % 4)), i);
      // The next segment, which there may be, says nothing.
      if (form == SrqForm::cyclic) rig.srq.store_next(0, 0xffff);
    }
  }
}

TEST(Srq, AnEmptyOneMakesTheSenderWaitAndLosesNothing) {
  SrqRig rig({.pairs = 2});
  fill_a(rig);
  rig.send(0, 0, 64);
  rig.send(1, 64, 64);
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(rig.received(), IsEmpty());
  EXPECT_EQ(rig.rig.b.engine.counters().out_of_buffer, 2u);
  EXPECT_EQ(rig.info().taken, 0);
  rig.post(4096, 64);
  rig.post(8192, 64);
  ASSERT_TRUE(rig.rig.run_until([&] { return rig.info().taken == 2; }));
  ASSERT_TRUE(rig.run());
  for (const auto& cqe : rig.received()) {
    EXPECT_EQ(opcode_of(cqe), CqeOpcode::responder_send);
    const std::size_t pair = cqe.srqn_uidx - SrqRig::kUserIndex;
    EXPECT_TRUE(same(rig, 4096 + cqe.wqe_counter * std::size_t{4096}, pair * 64, 64));
  }
}

// The keys of its WQEs are those of its own protection domain.
TEST(Srq, ItsProtectionDomainIsThatOfItsWqes) {
  SrqRig rig({.own_pd = true});
  fill_a(rig);
  rig.post(4096, 64);
  rig.send(0, 0, 64);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(opcode_of(rig.received().at(0)), CqeOpcode::responder_send);
  EXPECT_TRUE(same(rig, 4096, 0, 64));
  rig.key = rig.rig.b.key;  // the queue pair's
  rig.post(4096, 64);
  rig.send(0, 0, 64);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(syndrome_of(rig.received().at(0)), format::Syndrome::local_protection);
}

TEST(Srq, AQueuePairWithAReceiveQueueOfItsOwnIsNotConcerned) {
  SrqRig rig;
  rig.post(4096, 64);
  Side& b = rig.rig.b;
  b.post_receive({format::data(b.heap_address(0), Be32{b.key}, 64)});
  rig.rig.a.post({.opcode = Opcode::send, .body = {rig.rig.a.data(0, 64)}});
  rig.rig.a.ring();
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.received();
  ASSERT_EQ(cqes.size(), 1u);
  EXPECT_EQ(cqes[0].sop_drop_qpn, b.qpn);
  EXPECT_EQ(rig.info().taken, 0);
}

}  // namespace
}  // namespace gdakit::softnic::test
