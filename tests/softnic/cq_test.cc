// A completion queue by itself: entries, owner bits, overrun, and when an arm comes to an event.
#include "backends/softnic/queues/cq.h"

#include <gtest/gtest.h>

#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using Posted = Cq::Posted;

constexpr CqNumber kNumber = 7;

struct CqOptions {
  std::uint32_t log_entries = 2;
  bool collapsed = false;
  bool overrun_ignore = false;
  CqeSize cqe_size = CqeSize::bytes_64;
  bool short_cqes = false;
  UarNumber uar = 1;
};

// A CQ, its consumer, and who posts to it.
struct CqRig {
  explicit CqRig(const CqOptions& options = {}, std::unique_ptr<DmaPort> dma = {})
      : port(dma ? std::move(dma) : std::make_unique<HostDma>()),
        reader(options.collapsed ? 0 : options.log_entries, options.collapsed, options.cqe_size),
        cq(kNumber, attributes(options), *port, options.short_cqes) {}

  CqAttributes attributes(const CqOptions& options) const {
    CqAttributes given;
    given.entries = reader.address();
    given.log_entries = options.log_entries;
    given.cqe_size = options.cqe_size;
    given.collapsed = options.collapsed;
    given.overrun_ignore = options.overrun_ignore;
    given.doorbell_record = reader.record();
    given.uar = options.uar;
    return given;
  }

  Posted post(CqeOpcode opcode = CqeOpcode::requester, bool solicited = false) {
    format::Cqe64 cqe{};
    cqe.op_own = format::op_own(opcode, false, solicited);
    cqe.wqe_counter = Be16{static_cast<std::uint16_t>(posted)};
    const Posted result = cq.post(cqe, 0x1234);
    if (result != Posted::not_yet) ++posted;
    return result;
  }
  // Posts, and returns whether that brought an event.
  bool post_and_step(CqeOpcode opcode = CqeOpcode::requester, bool solicited = false) {
    const Posted result = post(opcode, solicited);
    EXPECT_TRUE(result == Posted::written || result == Posted::due);
    const bool told = cq.step(0).completion;
    EXPECT_EQ(told, result == Posted::due);
    return told;
  }
  // Arms as the consumer stands; returns whether that brought an event at once.
  bool arm(bool solicited_only = false) {
    reader.store_arm(solicited_only);
    return look();
  }
  bool arm_word(Be32 word) {
    reader.store_arm_word(word);
    return look();
  }
  bool look() {
    cq.look_at_arm();
    return cq.step(0).completion;
  }
  CqArmed armed() const { return cq.info().armed; }

  std::unique_ptr<DmaPort> port;
  CqReader reader;
  Cq cq;
  std::uint64_t posted = 0;
};

class CqSizes : public testing::TestWithParam<CqeSize> {};
INSTANTIATE_TEST_SUITE_P(BothSizes, CqSizes,
                         testing::Values(CqeSize::bytes_64, CqeSize::bytes_128));

TEST_P(CqSizes, TheOwnerBitOfARingTurnsWithEachLap) {
  CqRig rig({.cqe_size = GetParam()});
  for (std::uint64_t i = 0; i < 40; ++i) {
    EXPECT_FALSE(rig.reader.poll());
    ASSERT_EQ(rig.post(), Posted::written);
    EXPECT_EQ(rig.reader.at(i).op_own & 1, static_cast<int>((i >> 2) & 1));
    const auto cqe = rig.reader.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->wqe_counter, i);
    EXPECT_EQ(cqe->timestamp, 0x1234u);
  }
  EXPECT_EQ(rig.cq.info().producer_counter, 40u);
}

TEST_P(CqSizes, OfACollapsedQueueAllGoToTheFirstEntry) {
  CqRig rig({.log_entries = 3, .collapsed = true, .overrun_ignore = true, .cqe_size = GetParam()});
  for (std::uint64_t i = 0; i < 40; ++i) {
    ASSERT_EQ(rig.post(), Posted::written);
    EXPECT_EQ(rig.reader.at(0).wqe_counter, i);
    EXPECT_EQ(rig.reader.at(0).op_own & 1, static_cast<int>((i >> 3) & 1));
  }
}

TEST_P(CqSizes, AShortCqeLeavesTheRestOfTheEntry) {
  CqRig rig({.log_entries = 0,
             .collapsed = true,
             .overrun_ignore = true,
             .cqe_size = GetParam(),
             .short_cqes = true});
  rig.post(CqeOpcode::responder_send);
  const format::Cqe64 first = rig.reader.at(0);
  rig.post(CqeOpcode::requester);
  const format::Cqe64 second = rig.reader.at(0);
  EXPECT_EQ(second.wqe_counter, 1);
  EXPECT_EQ(format::cqe_opcode(second.op_own), CqeOpcode::requester);
  EXPECT_EQ(std::memcmp(&first, &second, format::kCqeTailOffset), 0);
}

TEST_P(CqSizes, ItsMemoryIsWhatItWrites) {
  const std::uint64_t entry = entry_bytes(GetParam());
  CqRig ring({.log_entries = 3, .cqe_size = GetParam()});
  ASSERT_EQ(ring.cq.memory().size(), 2u);
  EXPECT_EQ(ring.cq.memory()[0].length, 8 * entry);
  EXPECT_EQ(ring.cq.memory()[1].base, ring.reader.record());
  CqRig collapsed({.log_entries = 3,
                   .collapsed = true,
                   .overrun_ignore = true,
                   .cqe_size = GetParam(),
                   .uar = 0});
  ASSERT_EQ(collapsed.cq.memory().size(), 1u);  // its record is not looked at
  EXPECT_EQ(collapsed.cq.memory()[0].length, entry);
}

TEST(Cq, TheFirstHalfOfALongEntryIsLeftAsItIs) {
  CqRig rig({.cqe_size = CqeSize::bytes_128});
  for (int i = 0; i < 4; ++i) rig.post();
  for (std::size_t entry = 0; entry < 4; ++entry) {
    for (std::size_t i = 0; i < 64; ++i) {
      ASSERT_EQ(rig.reader.byte(entry * 128 + i), format::kInvalidCqeByte);
    }
    ASSERT_EQ(rig.reader.byte(entry * 128 + 64), 0);
  }
}

TEST(Cq, AnErrorCqeIsSigned) {
  CqRig rig;
  rig.post(CqeOpcode::requester_error);
  const format::Cqe64 cqe = rig.reader.at(0);
  std::uint8_t bytes[sizeof cqe];
  std::memcpy(bytes, &cqe, sizeof cqe);
  std::uint8_t all = 0;
  for (const std::uint8_t byte : bytes) all ^= byte;
  EXPECT_EQ(all, 0xff);
  EXPECT_EQ(cqe.timestamp, 0u);
}

TEST(Cq, AskedForRoomItReadsTheConsumerIndex) {
  CqRig rig;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(rig.post(), Posted::written);
  rig.reader.store_consumer(1);
  EXPECT_EQ(rig.cq.info().consumer_counter, 0u);  // nobody has looked
  ASSERT_EQ(rig.post(), Posted::written);
  EXPECT_EQ(rig.cq.info().consumer_counter, 1u);
  EXPECT_EQ(rig.cq.info().status, CqStatus::ok);
}

TEST(Cq, AConsumerIndexOfTwentyFourBitsIsUnderstoodLapsLater) {
  CqRig rig({.log_entries = 12, .overrun_ignore = false});
  for (std::uint64_t i = 0; i < (1u << 24) + (1u << 13); ++i) {
    rig.reader.store_consumer(i);
    ASSERT_EQ(rig.post(), Posted::written) << i;
  }
  EXPECT_EQ(rig.cq.info().producer_counter, 1u << 13);
}

TEST(Overflow, IsAStateThatTakesNoCqe) {
  CqRig rig;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(rig.post(), Posted::written);
  EXPECT_FALSE(rig.cq.step(0).lost);
  EXPECT_EQ(rig.post(), Posted::lost);
  EXPECT_EQ(rig.cq.info().status, CqStatus::overflow);
  Cq::News news = rig.cq.step(0);
  EXPECT_TRUE(news.lost);
  EXPECT_TRUE(news.error);
  // Room comes too late.
  EXPECT_EQ(rig.reader.poll_all().size(), 4u);
  EXPECT_EQ(rig.post(), Posted::lost);
  EXPECT_FALSE(rig.reader.poll());
  news = rig.cq.step(0);
  EXPECT_TRUE(news.lost);
  EXPECT_FALSE(news.error);  // told before
  EXPECT_FALSE(rig.cq.step(0).lost);
  EXPECT_EQ(rig.cq.info().producer_counter, 4u);
}

TEST(Overflow, IsNotToldAgainByQueuesThatFlush) {
  CqRig rig;
  for (int i = 0; i < 4; ++i) rig.post();
  EXPECT_EQ(rig.post(CqeOpcode::requester_error, true), Posted::lost);
  EXPECT_TRUE(rig.cq.step(0).lost);
  EXPECT_EQ(rig.post(CqeOpcode::requester_error, true), Posted::lost);
  EXPECT_FALSE(rig.cq.step(0).lost);
  EXPECT_EQ(rig.post(), Posted::lost);
  EXPECT_TRUE(rig.cq.step(0).lost);
}

TEST(Overflow, AConsumerIndexAheadOfTheProducerIsOne) {
  CqRig rig;
  for (int i = 0; i < 4; ++i) rig.post();
  rig.reader.store_consumer(5);
  EXPECT_EQ(rig.post(), Posted::lost);
}

TEST(Overflow, DoesNotComeWhereItIsIgnored) {
  CqRig rig({.overrun_ignore = true});
  for (int i = 0; i < 40; ++i) ASSERT_EQ(rig.post(), Posted::written);
  EXPECT_EQ(rig.cq.info().status, CqStatus::ok);
}

TEST(Overflow, OfACollapsedQueueCountsItsSize) {
  CqRig rig({.log_entries = 2, .collapsed = true});
  for (int i = 0; i < 4; ++i) ASSERT_EQ(rig.post(), Posted::written);
  EXPECT_EQ(rig.post(), Posted::lost);
}

TEST(Arm, ComesToOneEventForTheNextCqe) {
  CqRig rig;
  EXPECT_FALSE(rig.post_and_step());
  rig.reader.poll();
  EXPECT_FALSE(rig.arm());
  EXPECT_EQ(rig.armed(), CqArmed::any);
  EXPECT_TRUE(rig.post_and_step());
  EXPECT_EQ(rig.armed(), CqArmed::fired);
  EXPECT_EQ(rig.cq.info().last_notified_index, 2u);
  EXPECT_FALSE(rig.post_and_step());
  EXPECT_FALSE(rig.cq.step(0).completion);
}

TEST(Arm, BehindACqeThatItsConsumerHasNotSeenComesToAnEventAtOnce) {
  CqRig rig;
  EXPECT_FALSE(rig.post_and_step());
  EXPECT_TRUE(rig.arm());
  EXPECT_EQ(rig.armed(), CqArmed::fired);
}

TEST(Arm, ACqeIsToldOfOnce) {
  CqRig rig;
  rig.arm();
  EXPECT_TRUE(rig.post_and_step());
  // The consumer has read the event, and arms before it polls.
  ++rig.reader.events_read;
  EXPECT_FALSE(rig.arm());
  rig.reader.poll();
  EXPECT_TRUE(rig.post_and_step());
}

TEST(Arm, ForSolicitedOnlyWaitsForSuchACqe) {
  CqRig rig({.log_entries = 4});
  EXPECT_FALSE(rig.arm(/*solicited_only=*/true));
  EXPECT_EQ(rig.armed(), CqArmed::solicited);
  EXPECT_FALSE(rig.post_and_step());
  EXPECT_FALSE(rig.post_and_step(CqeOpcode::responder_send, false));
  EXPECT_TRUE(rig.post_and_step(CqeOpcode::responder_send, true));
  EXPECT_EQ(rig.cq.info().last_solicit_index, 3u);
  // One that is there already counts, others do not.
  ++rig.reader.events_read;
  EXPECT_FALSE(rig.post_and_step(CqeOpcode::responder_send_imm, true));
  EXPECT_FALSE(rig.post_and_step());
  EXPECT_TRUE(rig.arm(/*solicited_only=*/true));
  ++rig.reader.events_read;
  EXPECT_FALSE(rig.post_and_step());
  EXPECT_FALSE(rig.arm(/*solicited_only=*/true));
}

// Its index has 24 bits, and must not come to mean another CQE when it is read again.
TEST(Arm, ForSolicitedOnlyStaysHoweverManyOthersCome) {
  CqRig rig({.collapsed = true, .overrun_ignore = true});
  EXPECT_FALSE(rig.arm(/*solicited_only=*/true));
  for (std::uint32_t i = 0; i <= (1u << 23); ++i) ASSERT_EQ(rig.post(), Posted::written);
  EXPECT_FALSE(rig.look());
  EXPECT_TRUE(rig.post_and_step(CqeOpcode::responder_send, true));
}

TEST(Arm, CqesOfErrorsCountAsSolicited) {
  for (const CqeOpcode opcode : {CqeOpcode::requester_error, CqeOpcode::responder_error}) {
    CqRig rig;
    EXPECT_FALSE(rig.arm(/*solicited_only=*/true));
    EXPECT_TRUE(rig.post_and_step(opcode, false));
  }
}

TEST(Arm, TwiceComesToOneEvent) {
  CqRig rig;
  EXPECT_FALSE(rig.arm());
  EXPECT_FALSE(rig.arm());
  EXPECT_TRUE(rig.post_and_step());
  EXPECT_FALSE(rig.look());
  EXPECT_FALSE(rig.post_and_step());
}

TEST(Arm, ASecondOneMayAskForMoreButNotForLess) {
  CqRig more;
  more.arm(/*solicited_only=*/true);
  more.arm();
  EXPECT_TRUE(more.post_and_step());
  CqRig less;
  less.arm();
  less.arm(/*solicited_only=*/true);
  EXPECT_TRUE(less.post_and_step());
}

TEST(Arm, OfBeforeTheLastEventWasReadIsNone) {
  CqRig rig({.log_entries = 6});
  for (int lap = 0; lap < 10; ++lap) {
    rig.reader.poll_all();
    EXPECT_FALSE(rig.arm());
    EXPECT_TRUE(rig.post_and_step());
    rig.reader.poll_all();
    EXPECT_FALSE(rig.arm());
    EXPECT_EQ(rig.armed(), CqArmed::fired) << lap;
    EXPECT_FALSE(rig.post_and_step());
    ++rig.reader.events_read;
  }
}

TEST(Arm, OfAnEventThatNobodyHasToldIsNone) {
  CqRig rig;
  for (std::uint32_t ahead = 1; ahead < 4; ++ahead) {
    EXPECT_FALSE(rig.arm_word(format::cq_arm(ahead, false, 0)));
    EXPECT_EQ(rig.armed(), CqArmed::fired);
  }
}

TEST(Arm, AWordThatIsNoArmIsNone) {
  CqRig rig;
  EXPECT_FALSE(rig.look());
  EXPECT_EQ(rig.armed(), CqArmed::fired);
  for (const std::uint32_t word : {0xffffffffu, 0x80000000u, 0x40000000u, 0x02000000u}) {
    rig.arm_word(Be32{word});
    EXPECT_EQ(rig.armed(), CqArmed::fired) << word;
  }
}

TEST(Arm, AnIndexAheadWaitsUntilCqesHavePassedIt) {
  CqRig rig;
  EXPECT_FALSE(rig.post_and_step());
  EXPECT_FALSE(rig.arm_word(format::cq_arm(0, false, 3)));
  EXPECT_FALSE(rig.post_and_step());
  EXPECT_FALSE(rig.post_and_step());
  EXPECT_TRUE(rig.post_and_step());
}

TEST(Arm, AnIndexOfBeforeTheBeginningSawNothing) {
  CqRig rig;
  EXPECT_FALSE(rig.arm_word(format::cq_arm(0, false, 0xfffff0)));
  EXPECT_TRUE(rig.post_and_step());
}

TEST(Arm, IsUnderstoodAcrossTheEndOfTwentyFourBits) {
  CqRig rig({.overrun_ignore = true});
  constexpr std::uint32_t kEnd = 1u << 24;
  for (std::uint32_t i = 0; i < kEnd - 1; ++i) rig.post();
  EXPECT_FALSE(rig.arm_word(format::cq_arm(0, false, kEnd)));
  EXPECT_FALSE(rig.post_and_step());
  EXPECT_TRUE(rig.post_and_step());
  EXPECT_EQ(rig.cq.info().producer_counter, 1u);
}

TEST(Arm, ALookDuringALookIsNotLost) {
  CqRig rig({}, std::make_unique<DelayedDma>(1, true));
  rig.cq.look_at_arm();
  EXPECT_TRUE(rig.cq.step(0).pending);
  rig.cq.look_at_arm();
  Cq::News news = rig.cq.step(0);
  for (int i = 0; i < 100 && news.pending; ++i) {
    rig.port->submit();
    rig.port->poll();
    if (i == 50) rig.reader.store_arm();
    if (i <= 50) rig.cq.look_at_arm();
    news = rig.cq.step(0);
  }
  EXPECT_FALSE(news.pending);
  EXPECT_EQ(rig.armed(), CqArmed::any);
}

// What an event tells of is there: DMA that comes late holds the event up.
TEST(Arm, ItsEventComesBehindItsCqe) {
  for (const bool ordered : {false, true}) {
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
      CqRig rig({}, std::make_unique<DelayedDma>(seed, ordered));
      const auto step = [&rig] {
        rig.port->submit();
        rig.port->poll();
        return rig.cq.step(0);
      };
      const bool first = seed % 2 == 0;
      if (first) {
        ASSERT_EQ(rig.post(), Posted::written);
      }
      rig.reader.store_arm();
      rig.cq.look_at_arm();
      if (!first) {
        while (rig.cq.info().armed == CqArmed::fired) step();
        ASSERT_EQ(rig.post(), Posted::due);
      }
      Cq::News news = step();
      for (int i = 0; i < 1000 && !news.completion; ++i) {
        ASSERT_TRUE(news.pending);
        news = step();
      }
      ASSERT_TRUE(news.completion);
      ASSERT_TRUE(rig.reader.poll()) << seed;
      EXPECT_FALSE(step().pending);
    }
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
