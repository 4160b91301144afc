// A completion queue that moves to other entries: the marker, owner bits, refusals, arms, and
// traffic meanwhile.
#include <deque>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "backends/softnic/queues/cq.h"
#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/resizing_consumer.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using Posted = Cq::Posted;
using Resized = Cq::Resized;

// A CQ and its consumer; CQEs are numbered by their wqe_counter.
struct ResizeRig {
  explicit ResizeRig(std::uint32_t log_entries = 2, CqeSize size = CqeSize::bytes_64,
                     UarNumber uar = 0, std::unique_ptr<DmaPort> dma = {})
      : port(dma ? std::move(dma) : std::make_unique<HostDma>()),
        consumer(log_entries, size),
        cq(7, consumer.attributes(uar), *port, /*short_cqes=*/false) {}

  Posted post(bool solicited = false) {
    format::Cqe64 cqe{};
    cqe.op_own = format::op_own(CqeOpcode::requester, false, solicited);
    cqe.wqe_counter = Be16{static_cast<std::uint16_t>(posted)};
    const Posted result = cq.post(cqe, 1);
    if (result == Posted::written || result == Posted::due) ++posted;
    return result;
  }
  Resized resize(std::uint32_t log_entries, CqeSize size = CqeSize::bytes_64) {
    const CqResize to = consumer.prepare(log_entries, size);
    Resized result = cq.resize(to);
    while (result == Resized::not_yet) {
      port->submit();
      port->poll();
      result = cq.resize(to);
    }
    settle();
    result == Resized::moved ? consumer.adopt() : consumer.give_up();
    return result;
  }
  // All that was written is visible.
  void settle() {
    const DmaOp all = port->fence();
    while (all.id != 0 && !port->done(all)) {
      port->submit();
      port->poll();
    }
  }
  // The number of the CQE that is polled.
  std::optional<std::uint32_t> poll() {
    const auto cqe = consumer.poll();
    return cqe ? std::optional<std::uint32_t>(cqe->wqe_counter) : std::nullopt;
  }
  bool arm(std::uint32_t events_read) {
    consumer.store_arm(events_read);
    cq.look_at_arm();
    return cq.step(0).completion;
  }
  bool post_and_step() {
    EXPECT_NE(post(), Posted::lost);
    return cq.step(0).completion;
  }

  std::unique_ptr<DmaPort> port;
  ResizingConsumer consumer;
  Cq cq;
  std::uint64_t posted = 0;
};

TEST(CqResize, WhatIsNotPolledComesInOrderAndThenWhatFollows) {
  ResizeRig rig(3);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(rig.post(), Posted::written);
  EXPECT_EQ(rig.poll(), 0u);
  ASSERT_EQ(rig.resize(4), Resized::moved);
  for (int i = 0; i < 9; ++i) ASSERT_EQ(rig.post(), Posted::written);
  for (std::uint32_t i = 1; i < 14; ++i) EXPECT_EQ(rig.poll(), i);
  EXPECT_EQ(rig.poll(), std::nullopt);
}

TEST(CqResize, AMarkerTakesAnIndexOfTheOldEntries) {
  ResizeRig rig(2);
  rig.post();
  rig.poll();
  EXPECT_EQ(rig.cq.info().producer_counter, 1u);
  ASSERT_EQ(rig.resize(1), Resized::moved);
  EXPECT_EQ(rig.cq.info().producer_counter, 2u);
  EXPECT_EQ(rig.consumer.consumer(), 2u);
}

TEST(CqResize, ItsMemoryIsThatOfTheNewEntries) {
  ResizeRig rig(2);
  const DmaAddress before = rig.cq.entries().base;
  ASSERT_EQ(rig.resize(5, CqeSize::bytes_128), Resized::moved);
  EXPECT_NE(rig.cq.entries().base.value, before.value);
  EXPECT_EQ(rig.cq.entries().length, 32u * 128);
  EXPECT_EQ(rig.cq.memory()[0].length, 32u * 128);
}

TEST(CqResize, EntriesThatDoNotTakeWhatIsNotPolledAreRefused) {
  ResizeRig rig(3);
  for (int i = 0; i < 4; ++i) rig.post();
  EXPECT_EQ(rig.resize(1), Resized::too_small);
  EXPECT_EQ(rig.resize(2), Resized::too_small);
  rig.poll();
  EXPECT_EQ(rig.resize(2), Resized::moved);
  for (std::uint32_t i = 1; i < 4; ++i) EXPECT_EQ(rig.poll(), i);
  EXPECT_EQ(rig.post(), Posted::written);
  EXPECT_EQ(rig.poll(), 4u);
}

TEST(CqResize, AFullQueueHasNoEntryForTheMarker) {
  ResizeRig rig(2);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(rig.post(), Posted::written);
  EXPECT_EQ(rig.resize(6), Resized::full);
  EXPECT_EQ(rig.cq.info().status, CqStatus::ok);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(rig.poll(), i);
  EXPECT_EQ(rig.resize(6), Resized::moved);
}

// The record says so only when it polls again.
TEST(CqResize, WhoeverMovesIsBehindTheMarker) {
  ResizeRig rig(2);
  rig.post();
  for (const std::uint32_t log_entries : {1, 2, 1, 3, 1}) {
    ASSERT_EQ(rig.resize(log_entries), Resized::moved) << log_entries;
  }
  EXPECT_EQ(rig.post(), Posted::written);
  EXPECT_EQ(rig.resize(3), Resized::full);
  EXPECT_EQ(rig.poll(), 0u);
  EXPECT_EQ(rig.resize(3), Resized::moved);
  EXPECT_EQ(rig.poll(), 1u);
}

TEST(CqResize, AnOverrunQueueStaysWhereItIs) {
  ResizeRig rig(1);
  rig.post();
  rig.post();
  ASSERT_EQ(rig.post(), Posted::lost);
  rig.poll();
  EXPECT_EQ(rig.resize(4), Resized::full);
}

TEST(CqResize, TheNewEntriesSayWhenItOverruns) {
  ResizeRig small(4);
  ASSERT_EQ(small.resize(1), Resized::moved);
  EXPECT_EQ(small.post(), Posted::written);
  EXPECT_EQ(small.poll(), 0u);
  EXPECT_EQ(small.post(), Posted::written);
  EXPECT_EQ(small.post(), Posted::written);
  EXPECT_EQ(small.post(), Posted::lost);
  ResizeRig large(1);
  ASSERT_EQ(large.resize(4), Resized::moved);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(large.post(), Posted::written);
}

TEST(CqResize, TheMarkerBringsNoEvent) {
  ResizeRig rig(2, CqeSize::bytes_64, /*uar=*/1);
  EXPECT_FALSE(rig.arm(0));
  ASSERT_EQ(rig.resize(3), Resized::moved);
  EXPECT_FALSE(rig.cq.step(0).completion);
  EXPECT_TRUE(rig.post_and_step());
  EXPECT_FALSE(rig.post_and_step());
}

// The NIC has not looked at the arm when it is asked to move.
TEST(CqResize, AnArmStoredBeforeMeansTheIndexBefore) {
  ResizeRig rig(2, CqeSize::bytes_64, /*uar=*/1);
  rig.consumer.store_arm(0);
  ASSERT_EQ(rig.resize(3), Resized::moved);
  EXPECT_FALSE(rig.cq.step(0).completion);
  EXPECT_TRUE(rig.post_and_step());
}

TEST(CqResize, WhatWasToldIsNotToldAgain) {
  ResizeRig rig(2, CqeSize::bytes_64, /*uar=*/1);
  EXPECT_FALSE(rig.arm(0));
  EXPECT_TRUE(rig.post_and_step());
  ASSERT_EQ(rig.resize(3), Resized::moved);
  EXPECT_FALSE(rig.arm(1));
  EXPECT_EQ(rig.poll(), 0u);
  EXPECT_TRUE(rig.post_and_step());
}

TEST(CqResize, WhatWasNotToldIsToldByTheNextArm) {
  ResizeRig rig(2, CqeSize::bytes_64, /*uar=*/1);
  rig.post();
  ASSERT_EQ(rig.resize(3), Resized::moved);
  EXPECT_TRUE(rig.arm(0));
}

// Entries of both sizes, posts, polls and moves in any order, on ports that finish at once, later
// in order, and later in none.
class RandomResizes : public testing::TestWithParam<std::tuple<CqeSize, CqeSize, int /*port*/>> {
 protected:
  std::unique_ptr<DmaPort> port() const {
    const int kind = std::get<2>(GetParam());
    if (kind == 0) return std::make_unique<HostDma>();
    return std::make_unique<DelayedDma>(11, /*ordered=*/kind == 1);
  }
};
INSTANTIATE_TEST_SUITE_P(Sizes, RandomResizes,
                         testing::Combine(testing::Values(CqeSize::bytes_64, CqeSize::bytes_128),
                                          testing::Values(CqeSize::bytes_64, CqeSize::bytes_128),
                                          testing::Values(0, 1, 2)));

TEST_P(RandomResizes, LoseNothingAndKeepTheOrder) {
  const auto [first, second, kind] = GetParam();
  ResizeRig rig(3, first, 0, port());
  std::mt19937 random(5);
  std::uint32_t expected = 0;
  int moves = 0, refusals = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::uint64_t producer = rig.cq.info().producer_counter;
    const std::uint64_t behind = producer - rig.consumer.consumer();
    switch (random() % 5) {
      case 0:
      case 1:
        if (behind < rig.consumer.capacity()) {
          while (rig.post() == Posted::not_yet) rig.settle();
        }
        break;
      case 2:
      case 3:
        rig.settle();
        if (const auto number = rig.poll()) {
          ASSERT_EQ(*number, expected++);
        }
        break;
      default: {
        const std::uint32_t log_entries = 1 + random() % 5;
        const bool full = behind == rig.consumer.capacity();
        const bool fits = !full && behind < (std::uint64_t{1} << log_entries);
        const CqeSize size = random() % 2 == 0 ? first : second;
        const Resized refusal = full ? Resized::full : Resized::too_small;
        ASSERT_EQ(rig.resize(log_entries, size), fits ? Resized::moved : refusal);
        ++(fits ? moves : refusals);
      }
    }
  }
  rig.settle();
  while (const auto number = rig.poll()) ASSERT_EQ(*number, expected++);
  EXPECT_EQ(expected, rig.posted);
  EXPECT_GT(moves, 300);
  EXPECT_GT(refusals, 50);
}

// The calls of an engine.
struct EngineResizes : testing::Test {
  EngineResizes() {
    CqAttributes attributes = consumer.attributes();
    cqn = *rig.a.engine.create_cq(attributes);
  }
  CommandStatus refused(const CqResize& to) {
    return rig.a.engine.resize_cq(cqn, to).status().status;
  }

  EngineRig rig;
  ResizingConsumer consumer{3, CqeSize::bytes_64};
  CqNumber cqn = 0;
};

TEST_F(EngineResizes, AreChecked) {
  const CqResize good = consumer.prepare(4, CqeSize::bytes_64);
  CqResize bad = good;
  bad.log_entries = 23;
  EXPECT_EQ(refused(bad), CommandStatus::bad_param);
  bad = good;
  bad.entries.value += 32;
  EXPECT_EQ(refused(bad), CommandStatus::bad_param);
  bad.entries.value = 0;
  EXPECT_EQ(refused(bad), CommandStatus::bad_param);
  EXPECT_EQ(rig.a.engine.resize_cq(cqn + 1, good).status().status, CommandStatus::bad_res);
  EXPECT_EQ(rig.a.engine.resize_cq(cqn, good, 5).status().status, CommandStatus::bad_res);
  const Outcome<bool> moved = rig.a.engine.resize_cq(cqn, good);
  ASSERT_TRUE(moved);
  EXPECT_TRUE(*moved);
  consumer.adopt();
}

TEST(CollapsedQueues, HaveNoSizeToChange) {
  RigOptions options;
  options.collapsed = true;
  EngineRig rig(options);
  ResizingConsumer other(3, CqeSize::bytes_64);
  const CqResize to = other.prepare(4, CqeSize::bytes_64);
  const Status status = rig.a.engine.resize_cq(rig.a.send_cqn, to).status();
  EXPECT_EQ(status.syndrome, CommandSyndrome::resize_cq_collapsed);
}

// WRITEs complete while their CQ moves again and again.
TEST(ResizeUnderTraffic, LosesNoCompletion) {
  for (const bool ordered : {true, false}) {
    RigOptions options;
    options.make_port = [ordered](int side) {
      return std::make_unique<DelayedDma>(static_cast<std::uint32_t>(side) + 3, ordered);
    };
    EngineRig rig(options);
    ResizingConsumer consumer(6, CqeSize::bytes_64);
    Pages record(sizeof(format::DoorbellRecord));
    CqNumber cqn = *rig.a.engine.create_cq(consumer.attributes());
    QpAttributes attributes = rig.a.another_qp(record);
    attributes.send_cq = cqn;
    attributes.log_send_wqebbs = rig.a.options.log_sq;
    attributes.doorbell_record = host_address(rig.a.record.data());
    ASSERT_TRUE(rig.a.engine.destroy_qp(rig.a.qpn));
    rig.a.qpn = *rig.a.engine.create_qp(attributes);
    ASSERT_TRUE(rig.b.engine.modify_qp(rig.b.qpn, {.state = QpState::reset}));
    QpModify settings;
    settings.access = Access::all;
    EngineRig::connect(rig.a, rig.b, settings, 0, 0x800000);
    EngineRig::connect(rig.b, rig.a, settings, 0x800000, 0);
    std::mt19937 random(9);
    std::uint64_t expected = 0;
    const auto poll_all = [&] {
      while (const auto cqe = consumer.poll()) {
        ASSERT_EQ(opcode_of(*cqe), CqeOpcode::requester);
        ASSERT_EQ(cqe->wqe_counter, static_cast<std::uint16_t>(expected));
        ++expected;
      }
    };
    for (int round = 0; round < 400; ++round) {
      const std::uint64_t under_way = rig.a.producer - expected;
      for (std::uint64_t i = under_way; i < 20 + random() % 8; ++i) {
        rig.a.post(write_wqe(rig, 64 * (i % 64), 0, 64));
      }
      rig.a.ring();
      for (std::uint32_t steps = random() % 40; steps != 0; --steps) rig.step();
      const CqResize to = consumer.prepare(
          5 + random() % 3, random() % 2 == 0 ? CqeSize::bytes_64 : CqeSize::bytes_128);
      Outcome<bool> moved = rig.a.engine.resize_cq(cqn, to);
      while (moved && !*moved) {
        rig.step();
        moved = rig.a.engine.resize_cq(cqn, to);
      }
      ASSERT_TRUE(moved);
      const RemovalNumber old = rig.a.engine.last_removal();
      while (!rig.a.engine.removed(old)) rig.step();
      consumer.adopt();
      poll_all();
    }
    rig.run_until([&] {
      poll_all();
      return expected == rig.a.producer;
    });
    EXPECT_EQ(expected, rig.a.producer);
    EXPECT_GT(expected, 2000u);
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
