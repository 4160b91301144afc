// Shared receive queues in memory that takes its time.
#include <deque>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/slow_dma.h"
#include "tests/softnic/srq_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Syndrome;
using testing::ElementsAre;
using testing::IsEmpty;

// With b's memory slow in one place.
class SlowSrq : public testing::Test {
 protected:
  SrqRigOptions options() {
    SrqRigOptions options{.pairs = 2};
    options.rig.make_port = [this](int side) -> std::unique_ptr<DmaPort> {
      auto port = std::make_unique<SlowDma>();
      if (side == 1) dma = port.get();
      return port;
    };
    return options;
  }
  void step(int count) {
    for (int i = 0; i < count; ++i) rig.step();
  }
  // What is under way ends, and then all is as fast as ever.
  void finish() {
    dma->slow.reset();
    dma->under_way = false;
  }
  std::vector<std::uint16_t> taken() {
    std::vector<std::uint16_t> indices;
    for (const auto& cqe : rig.received()) {
      EXPECT_EQ(opcode_of(cqe), CqeOpcode::responder_send);
      indices.push_back(cqe.wqe_counter);
    }
    return indices;
  }
  std::uint64_t rnr_naks() const { return rig.rig.b.engine.counters().out_of_buffer; }

  SlowDma* dma = nullptr;
  SrqRig rig{options()};
};

TEST_F(SlowSrq, AMessageWaitsForItsWqe) {
  rig.post(0, 64);
  dma->slow = rig.srq.wqe(0);
  rig.send(0, 0, 64);
  step(20);
  EXPECT_TRUE(rig.rig.b.engine.waiting());
  EXPECT_THAT(taken(), IsEmpty());
  finish();
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(taken(), ElementsAre(0));
  EXPECT_EQ(rnr_naks(), 0u);
}

TEST_F(SlowSrq, WhatOneQueuePairHasWaitedForServesAnother) {
  rig.post(0, 64);
  dma->slow = rig.srq.wqe(0);
  rig.send(0, 0, 64);
  step(20);
  ASSERT_TRUE(rig.rig.b.engine.destroy_qp(rig.pairs[0]->to));
  rig.send(1, 0, 64);
  step(20);
  finish();
  step(20);
  EXPECT_THAT(taken(), ElementsAre(0));
  EXPECT_EQ(rig.info().taken, 1);
}

// The read of the record began before a WQE was posted. That was there before the second message,
// for which another read must be made.
TEST_F(SlowSrq, AMessageFindsWhatWasPostedBeforeItCame) {
  dma->slow = rig.srq.record();
  rig.send(0, 0, 64);
  step(20);
  ASSERT_TRUE(dma->under_way);
  rig.post(0, 64);
  rig.send(1, 64, 64);
  step(20);
  EXPECT_EQ(rnr_naks(), 0u);
  dma->under_way = false;  // the next one is as slow
  step(20);
  EXPECT_EQ(rnr_naks(), 1u);  // the first message's
  finish();
  step(20);
  EXPECT_EQ(rnr_naks(), 1u);
  const auto cqes = rig.received();
  ASSERT_EQ(cqes.size(), 1u);
  EXPECT_EQ(cqes[0].srqn_uidx, SrqRig::kUserIndex + 1);
}

TEST_F(SlowSrq, ALimitWaitsForTheRecord) {
  Engine& engine = rig.rig.b.engine;
  for (const QpNumber qpn : {rig.rig.b.qpn, rig.pairs[0]->to, rig.pairs[1]->to}) {
    ASSERT_TRUE(engine.destroy_qp(qpn));
  }
  step(20);
  ASSERT_FALSE(engine.waiting());
  rig.post(0, 64);
  rig.post(0, 64);
  dma->slow = rig.srq.record();
  ASSERT_TRUE(engine.arm_srq(rig.srqn, 4));
  step(20);
  EXPECT_TRUE(engine.waiting());
  EXPECT_THAT(rig.rig.b.events.take(), IsEmpty());
  finish();
  step(20);
  EXPECT_THAT(rig.rig.b.events.take(), ElementsAre(Event{EventKind::srq_limit, rig.srqn}));
  EXPECT_FALSE(engine.waiting());
}

// Seed, whether writes have order, and whether the WQEs are a list.
class DelayedSrq : public testing::TestWithParam<std::tuple<std::uint32_t, bool, bool>> {
 protected:
  static constexpr std::uint32_t kPairs = 3, kLong = 1000, kWqes = 15;

  SrqRigOptions options() const {
    const auto [seed, ordered, is_list] = GetParam();
    SrqRigOptions result{.pairs = kPairs, .form = is_list ? SrqForm::list : SrqForm::cyclic};
    result.rig.wire.mtu = 256;
    result.rig.make_port = [seed = seed, ordered = ordered](int side) {
      return std::make_unique<DelayedDma>(seed * 2 + static_cast<std::uint32_t>(side), ordered);
    };
    result.rig.settings.ack_timeout = 0;
    return result;
  }
  static std::size_t slot_of(std::uint16_t counter) { return counter % (kWqes + 1); }
  bool is_list() const { return std::get<2>(GetParam()); }
  // The WQE that the client posts next. In the order of memory it may be in use still, when later
  // ones have completed.
  std::size_t next() const { return is_list() ? free_.front() : posted_ % (kWqes + 1); }
  // Posts all WQEs that it may. Each one's place in the heap is that of its index.
  void post_all() {
    while (in_use_.size() != kWqes && in_use_.count(next()) == 0) {
      const std::size_t slot = next();
      if (is_list()) free_.pop_front();
      ASSERT_EQ(slot_of(rig.post(slot * kLong, kLong)), slot);
      in_use_.insert(slot);
      ++posted_;
    }
  }
  // The WQE of a CQE is the client's again.
  void take_back(const format::Cqe64& cqe) {
    in_use_.erase(slot_of(cqe.wqe_counter));
    if (!is_list()) return;
    rig.srq.free(cqe.wqe_counter);
    free_.push_back(cqe.wqe_counter);
  }
  void send(std::size_t pair) { rig.send(pair, (kWqes + 1 + pair) * kLong, size_of(pair)); }
  static std::uint32_t size_of(std::size_t pair) {
    return kLong - static_cast<std::uint32_t>(pair);
  }
  bool has_message(const format::Cqe64& cqe, std::size_t pair) const {
    return std::memcmp(rig.rig.b.heap.data() + slot_of(cqe.wqe_counter) * kLong,
                       rig.rig.a.heap.data() + (kWqes + 1 + pair) * kLong, size_of(pair)) == 0;
  }

  SrqRig rig{options()};
  std::deque<std::uint16_t> free_ = [] {
    std::deque<std::uint16_t> all;
    for (std::uint16_t i = 0; i <= kWqes; ++i) all.push_back(i);
    return all;
  }();
  std::set<std::size_t> in_use_;
  std::size_t posted_ = 0;
};

TEST_P(DelayedSrq, EachMessageIsThereWithItsCqe) {
  constexpr std::uint64_t kMessages = 150;
  fill(rig.rig.a.heap.data(), rig.rig.a.heap.size(), std::get<0>(GetParam()));
  std::uint64_t sent = 0, received = 0;
  std::array<std::uint64_t, kPairs> each{};
  for (int steps = 0; received != kMessages; ++steps) {
    ASSERT_LT(steps, 200'000);
    post_all();
    while (sent != kMessages && sent != posted_) send(sent++ % kPairs);
    rig.step();
    for (const auto& cqe : rig.received()) {
      ASSERT_EQ(opcode_of(cqe), CqeOpcode::responder_send);
      const std::size_t pair = cqe.srqn_uidx - SrqRig::kUserIndex;
      ASSERT_EQ(cqe.byte_cnt, size_of(pair));
      ASSERT_TRUE(has_message(cqe, pair));
      std::memset(rig.rig.b.heap.data() + slot_of(cqe.wqe_counter) * kLong, 0, kLong);
      ++each[pair];
      ++received;
      take_back(cqe);
    }
  }
  for (const std::uint64_t count : each) EXPECT_EQ(count, kMessages / kPairs);
  EXPECT_EQ(rig.rig.b.engine.counters().out_of_buffer, 0u);
  EXPECT_EQ(rig.info().taken, kMessages);
  ASSERT_TRUE(rig.run());
}

// At any time a queue pair fails. When it is told that it takes no more, all its CQEs are there.
TEST_P(DelayedSrq, TheLastWqeIsToldBehindItsCqe) {
  post_all();
  for (std::uint32_t i = 0; i < kWqes; ++i) send(i % kPairs);
  for (std::uint32_t i = 0; i < 5 + std::get<0>(GetParam()) * 3; ++i) rig.step();
  rig.modify(0, QpState::err);
  for (int steps = 0; rig.rig.b.events.of(EventKind::last_wqe).empty(); ++steps) {
    ASSERT_LT(steps, 10'000);
    rig.step();
  }
  const auto before = rig.received();
  const std::uint32_t taken = rig.info().taken;
  ASSERT_TRUE(rig.run());
  std::set<std::uint16_t> completed;
  std::uint64_t of_others = 0;
  for (const auto& cqe : before) completed.insert(cqe.wqe_counter);
  for (const auto& cqe : rig.received()) {
    EXPECT_NE(cqe.srqn_uidx, SrqRig::kUserIndex);
    completed.insert(cqe.wqe_counter);
    ++of_others;
  }
  EXPECT_LE(before.size(), taken);
  // None is lost, and none completes twice.
  EXPECT_EQ(completed.size(), rig.info().taken);
  EXPECT_EQ(before.size() + of_others, rig.info().taken);
  EXPECT_THAT(rig.rig.b.events.take(), ElementsAre(Event{EventKind::last_wqe, rig.pairs[0]->to}));
}

// ... or is reset or destroyed.
TEST_P(DelayedSrq, WhatAQueuePairHadClaimedIsThereWhenItIsRemoved) {
  const std::uint32_t seed = std::get<0>(GetParam());
  Engine& engine = rig.rig.b.engine;
  post_all();
  for (std::uint32_t i = 0; i < kWqes; ++i) send(i % kPairs);
  for (std::uint32_t i = 0; i < 5 + seed * 3; ++i) rig.step();
  const QpNumber qpn = rig.pairs[0]->to;
  ASSERT_TRUE(seed % 2 == 0 ? engine.destroy_qp(qpn) : engine.modify_qp(qpn, {}));
  const RemovalNumber removal = engine.last_removal();
  for (int steps = 0; !engine.removed(removal); ++steps) {
    ASSERT_LT(steps, 10'000);
    rig.step();
  }
  const auto before = rig.received();
  ASSERT_TRUE(rig.run());
  std::set<std::uint16_t> completed;
  for (const auto& cqe : before) completed.insert(cqe.wqe_counter);
  std::size_t count = before.size();
  for (const auto& cqe : rig.received()) {
    EXPECT_NE(cqe.sop_drop_qpn, qpn);
    completed.insert(cqe.wqe_counter);
    ++count;
  }
  EXPECT_EQ(completed.size(), rig.info().taken);
  EXPECT_EQ(count, rig.info().taken);
}

TEST_P(DelayedSrq, ItsMemoryIsReadUntilItIsRemoved) {
  Engine& engine = rig.rig.b.engine;
  for (const auto& pair : rig.pairs) ASSERT_TRUE(engine.destroy_qp(pair->to));
  ASSERT_TRUE(rig.run());
  ASSERT_TRUE(engine.arm_srq(rig.srqn, 4));
  rig.step();  // reads the record
  ASSERT_TRUE(engine.destroy_srq(rig.srqn));
  const RemovalNumber removal = engine.last_removal();
  EXPECT_FALSE(engine.removed(removal));
  for (int steps = 0; !engine.removed(removal); ++steps) {
    ASSERT_LT(steps, 10'000);
    rig.step();
  }
  ASSERT_TRUE(rig.run());
  EXPECT_THAT(rig.rig.b.events.take(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, DelayedSrq,
                         testing::Combine(testing::Range(1u, 13u), testing::Bool(),
                                          testing::Bool()));

}  // namespace
}  // namespace gdakit::softnic::test
