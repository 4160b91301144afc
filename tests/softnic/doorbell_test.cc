// Which doorbells and records make a NIC work, and which it must ignore.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/softnic/engine/uar.h"
#include "core/format/cq_doorbell.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/slow_dma.h"

namespace gdakit::softnic::test {
namespace {

using format::Opcode;

TEST(ProducerAdvance, JudgesModulo65536AndAtMostADepthAhead) {
  EXPECT_EQ(producer_advance(0, 1, 64), 1u);
  EXPECT_EQ(producer_advance(0, 64, 64), 64u);
  EXPECT_EQ(producer_advance(0, 65, 64), 0u);
  EXPECT_EQ(producer_advance(10, 10, 64), 0u);
  EXPECT_EQ(producer_advance(10, 9, 64), 0u);
  EXPECT_EQ(producer_advance(0xffff, 0, 64), 1u);
  EXPECT_EQ(producer_advance(0x1fffe, 5, 64), 7u);
  EXPECT_EQ(producer_advance(0, 0x8000, 32768), 32768u);
  EXPECT_EQ(producer_advance(0, 0x8001, 32768), 0u);
}

class DoorbellTest : public testing::Test {
 protected:
  // One doorbell with these first eight bytes of a control segment.
  void ring(std::uint16_t index, std::uint32_t ds, std::uint8_t opcode = 0) {
    const Be32 first{(std::uint32_t{index} << 8) | opcode};
    const Be32 second = format::qpn_ds(rig.a.qpn, ds);
    rig.a.engine.doorbell(rig.a.uar, format::kUarDoorbellBegin,
                          std::uint64_t{first.raw()} | (std::uint64_t{second.raw()} << 32));
  }
  std::size_t completed() {
    // Fewer steps than until a sweep: only the doorbell itself can have been at work.
    for (int i = 0; i < 40; ++i) rig.step();
    return rig.a.send_cq.poll_all().size();
  }
  static RigOptions rare_sweeps() {
    RigOptions options;
    options.engine.sweep_idle_steps = 100;
    return options;
  }
  EngineRig rig{rare_sweeps()};
};

TEST_F(DoorbellTest, NextIndexWithoutDsAnnouncesAllBelowIt) {
  for (int i = 0; i < 3; ++i) rig.a.post({});
  ring(3, 0);
  EXPECT_EQ(completed(), 3u);
}

TEST_F(DoorbellTest, LastWqesControlSegmentAnnouncesThatWqeToo) {
  rig.a.post({});
  const auto last = rig.a.post(inline_write_wqe(rig, 0, std::vector<std::uint8_t>(60)));
  ASSERT_EQ(rig.a.producer, 3u);
  ring(static_cast<std::uint16_t>(last), 6, static_cast<std::uint8_t>(Opcode::rdma_write));
  EXPECT_EQ(completed(), 2u);
}

TEST_F(DoorbellTest, TheRecordIsBelievedWhereItIsFurtherAhead) {
  for (int i = 0; i < 4; ++i) rig.a.post({});
  rig.a.store_record();
  ring(1, 0);
  EXPECT_EQ(completed(), 4u);
}

TEST_F(DoorbellTest, TheDoorbellIsBelievedWhereItIsFurtherAhead) {
  rig.a.post({});
  rig.a.store_record();
  for (int i = 0; i < 3; ++i) rig.a.post({});
  ring(4, 0);
  EXPECT_EQ(completed(), 4u);
}

// As far ahead as an old doorbell would be behind.
TEST_F(DoorbellTest, OfAQueueWithoutARecordMayAnnounceAllSlotsOfTheLongest) {
  Pages queue(std::size_t{format::kWqebbBytes} << 15);
  Pages record(8);
  QpAttributes attributes = rig.a.another_qp(record);
  attributes.service = ServiceType::dc;
  attributes.send_queue = host_address(queue.data());
  attributes.log_send_wqebbs = 15;
  attributes.no_send_record = true;
  attributes.uar = *rig.a.engine.alloc_uar(UarType::registers);
  const QpNumber qpn = *rig.a.engine.create_qp(attributes);
  QpModify modify;
  for (const QpState state : {QpState::init, QpState::rtr, QpState::rts}) {
    modify.state = state;
    ASSERT_TRUE(rig.a.engine.modify_qp(qpn, modify));
  }
  rig.a.engine.doorbell(attributes.uar, format::kUarNoRecordDoorbell,
                        format::doorbell_value(1 << 15, qpn));
  EXPECT_EQ(rig.a.engine.query_qp(qpn)->send_producer, 1u << 15);
}

// A program of others that keeps no records: it works until a doorbell is overwritten.
TEST_F(DoorbellTest, ThatTheRecordDoesNotFollowIsNoted) {
  rig.a.post({});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_FALSE(rig.a.info().record_behind);
  EXPECT_THAT(rig.a.engine.recordless_qps(), testing::IsEmpty());
  rig.a.post({});
  ring(2, 0);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_completed, 2u);
  EXPECT_TRUE(rig.a.info().record_behind);
  EXPECT_THAT(rig.a.engine.recordless_qps(), testing::ElementsAre(rig.a.qpn));
  EXPECT_THAT(rig.b.engine.recordless_qps(), testing::IsEmpty());
}

TEST_F(DoorbellTest, AnOldDoorbellTakesNothingBack) {
  for (int i = 0; i < 4; ++i) rig.a.post({});
  rig.a.ring();
  EXPECT_EQ(completed(), 4u);
  ring(2, 0);
  ring(4, 0);
  EXPECT_EQ(completed(), 0u);
  EXPECT_EQ(rig.a.info().send_producer, 4u);
}

TEST_F(DoorbellTest, ADoorbellFurtherAheadThanTheQueueIsDeepIsNotBelieved) {
  rig.a.post({});
  ring(65, 0);
  EXPECT_EQ(completed(), 0u);
  EXPECT_EQ(rig.a.info().send_producer, 0u);
}

TEST_F(DoorbellTest, OnlyTheQueuePairsOwnPageAndRegistersCount) {
  rig.a.post({});
  const std::uint64_t value = rig.a.doorbell();
  const UarNumber other = *rig.a.engine.alloc_uar(UarType::dense);
  rig.a.engine.doorbell(other, format::kUarDoorbellBegin, value);
  rig.a.engine.doorbell(other + 5, format::kUarDoorbellBegin, value);
  for (const std::uint32_t offset : {0u, 0x20u, 0x7f8u, 0xc00u, 0x1000u, 0x804u, 0x801u}) {
    rig.a.engine.doorbell(rig.a.uar, offset, value);
  }
  EXPECT_EQ(completed(), 0u);
  EXPECT_EQ(rig.a.engine.counters().dropped_doorbells, 9u);
  for (const std::uint32_t offset : {0x800u, 0x900u, 0xa00u, 0xbf8u}) {
    rig.a.post({});
    rig.a.engine.doorbell(rig.a.uar, offset, rig.a.doorbell());
  }
  EXPECT_EQ(completed(), 5u);
}

TEST_F(DoorbellTest, UnknownQueuePairsAreDropped) {
  rig.a.engine.doorbell(rig.a.uar, format::kUarDoorbellBegin, format::doorbell_value(1, 0x1234));
  rig.a.engine.doorbell(rig.a.uar, format::kUarDoorbellBegin, 0);
  EXPECT_EQ(rig.a.engine.counters().dropped_doorbells, 2u);
}

TEST(DoorbellRecord, ThatIsOldByAWholeQueueWhenItArrivesAnnouncesNothing) {
  constexpr std::uint32_t kDepth = 32768;
  RigOptions options;
  options.log_sq = 15;
  SlowDma* dma = nullptr;
  options.make_port = [&dma](int side) {
    auto port = std::make_unique<SlowDma>();
    if (side == 0) dma = port.get();
    return port;
  };
  EngineRig rig(options);
  ASSERT_TRUE(rig.run());
  dma->slow = rig.a.send_record();
  for (int i = 0; i < 100 && !dma->under_way; ++i) rig.step();
  ASSERT_TRUE(dma->under_way);
  for (std::uint32_t i = 0; i < kDepth; ++i) {
    if (i == kDepth / 2) rig.a.ring();
    rig.a.post({.completion = format::Completion::on_error});
  }
  rig.a.ring();
  for (std::uint32_t i = 0; i < kDepth && rig.a.info().send_completed != kDepth; ++i) rig.step();
  ASSERT_EQ(rig.a.info().send_completed, kDepth);
  dma->slow.reset();
  dma->under_way = false;
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_producer, kDepth);
  EXPECT_EQ(rig.a.info().state, QpState::rts);
}

TEST(Doorbell, ThatIsOldByAWholeQueueAnnouncesNothing) {
  constexpr std::uint32_t kDepth = 32768;
  RigOptions options;
  options.log_sq = 15;
  EngineRig rig(options);
  for (std::uint32_t i = 0; i < kDepth; ++i)
    rig.a.post({.completion = format::Completion::on_error});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  ASSERT_EQ(rig.a.info().send_completed, kDepth);
  rig.a.engine.doorbell(rig.a.uar, format::kUarDoorbellBegin, format::doorbell_value(0, rig.a.qpn));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_producer, kDepth);
  EXPECT_EQ(rig.a.info().state, QpState::rts);
}

// A client that announces two queues' worth, of which the first WQE claims to be longer than the
// queue, gets an error; the engine reads no further than the queue is deep.
TEST(Doorbell, OfWqebbsThatAreStillTakenIsNotReadBeyondTheQueue) {
  RigOptions options;
  options.log_sq = 3;
  EngineRig rig(options);
  ASSERT_TRUE(rig.run());
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::sqd}));
  rig.a.post({.ds = 63});
  for (const std::uint32_t producer : {8u, 16u}) {
    rig.a.engine.doorbell(rig.a.uar, format::kUarDoorbellBegin,
                          format::doorbell_value(producer, rig.a.qpn));
  }
  ASSERT_TRUE(rig.run());
  ASSERT_EQ(rig.a.info().send_producer, 16u);
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::rts}));
  ASSERT_TRUE(rig.run());
  const auto cqe = rig.a.send_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(syndrome_of(*cqe), format::Syndrome::local_qp_operation);
}

// Without sweeps: what the record alone announces is flushed by the turns that waiting() asks for.
TEST(DoorbellRecord, IsLookedAtWhenAQueuePairBeginsToFlush) {
  RigOptions options;
  options.engine.sweep_idle_steps = options.engine.sweep_busy_steps = 1u << 31;
  EngineRig rig(options);
  ASSERT_TRUE(rig.run());
  rig.a.post({});
  rig.a.store_record();
  rig.a.post_receive({});
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::err}));
  for (int i = 0; i < 100 && (rig.a.engine.step(rig.now_ns) || rig.a.engine.waiting()); ++i) {
  }
  EXPECT_TRUE(rig.a.send_cq.poll());
  EXPECT_TRUE(rig.a.receive_cq.poll());
}

TEST_F(DoorbellTest, ALostDoorbellIsFoundInTheRecord) {
  for (int i = 0; i < 5; ++i) rig.a.post({});
  rig.a.store_record();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 5u);
}

TEST_F(DoorbellTest, ALostDoorbellIsFoundWhileAnotherQueueIsBusy) {
  // b's own doorbell is lost; a keeps b's engine busy with packets.
  rig.b.post({});
  rig.b.store_record();
  bool found = false;
  for (int i = 0; i < 5000 && !found; ++i) {
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.ring();
    rig.step();
    rig.step();
    rig.a.send_cq.poll_all();
    found = rig.b.send_cq.poll().has_value();
  }
  EXPECT_TRUE(found);
}

TEST(UarPages, AStoreToAnyRegisterRingsOnce) {
  EngineRig rig;
  UarPages pages;
  auto* page = static_cast<std::uint8_t*>(*pages.add(rig.a.uar, UarType::dense));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page) % 4096, 0u);
  EXPECT_FALSE(pages.poll(rig.a.engine, true));
  std::uint64_t expected = 0;
  for (std::uint32_t offset = 0x800; offset < 0xc00; offset += 8) {
    rig.a.post({});
    const std::uint64_t value = rig.a.doorbell();
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(page + offset), value, __ATOMIC_RELEASE);
    EXPECT_TRUE(pages.poll(rig.a.engine, true));
    EXPECT_FALSE(pages.poll(rig.a.engine, true));
    EXPECT_EQ(rig.a.engine.counters().doorbells, ++expected);
    ASSERT_TRUE(rig.run());
  }
  EXPECT_EQ(rig.a.info().send_completed, expected);
}

TEST(UarPages, AColdWordIsFoundWithoutThoroughPollsToo) {
  EngineRig rig;
  UarPages pages;
  auto* page = static_cast<std::uint8_t*>(*pages.add(rig.a.uar, UarType::dense));
  rig.a.post({});
  *reinterpret_cast<std::uint64_t*>(page + 0xa00) = rig.a.doorbell();
  int polls = 0;
  while (!pages.poll(rig.a.engine, false)) ASSERT_LT(++polls, 16);
  // Now it is hot: the next change is seen at once.
  rig.a.post({});
  *reinterpret_cast<std::uint64_t*>(page + 0xa00) = rig.a.doorbell();
  EXPECT_TRUE(pages.poll(rig.a.engine, false));
}

TEST(UarPages, PagesBelowTheRegistersAndRemovedPagesRingNothing) {
  EngineRig rig;
  UarPages pages;
  auto* page = static_cast<std::uint8_t*>(*pages.add(rig.a.uar, UarType::dense));
  *reinterpret_cast<std::uint64_t*>(page + 0x20) = 1;
  *reinterpret_cast<std::uint64_t*>(page + 0xc00) = 1;
  EXPECT_FALSE(pages.poll(rig.a.engine, true));
  *reinterpret_cast<std::uint64_t*>(page + 0x800) = 1;
  EXPECT_TRUE(pages.poll(rig.a.engine, true));
  pages.remove(rig.a.uar);
  EXPECT_FALSE(pages.poll(rig.a.engine, true));
}

TEST(UarPages, APageIsLookedAtAloneWithAllItsWords) {
  EngineRig rig;
  UarPages pages;
  auto* page = static_cast<std::uint8_t*>(*pages.add(rig.a.uar, UarType::dense));
  const UarNumber other = rig.a.uar + 1;
  auto* others = static_cast<std::uint8_t*>(*pages.add(other, UarType::dense));
  const auto rung = [&] {
    const NicCounters counters = rig.a.engine.counters();
    return counters.doorbells + counters.dropped_doorbells;
  };
  for (std::uint64_t round = 1; round <= 2; ++round) {  // cold words, then hot ones
    for (std::uint8_t* words : {page, others}) {
      *reinterpret_cast<std::uint64_t*>(words + 0x808) = round;
      *reinterpret_cast<std::uint64_t*>(words + 0xbf8) = round;
    }
    const std::uint64_t before = rung();
    pages.poll_page(rig.a.engine, rig.a.uar);
    EXPECT_EQ(rung(), before + 2);
    pages.poll_page(rig.a.engine, rig.a.uar);
    pages.poll_page(rig.a.engine, other + 1);
    EXPECT_EQ(rung(), before + 2) << "nothing has changed";
    pages.poll_all(rig.a.engine);
    EXPECT_EQ(rung(), before + 4);
  }
}

// A page of registers with a queue pair that is rung through it, as a client of ConnectX has them.
class RegistersTest : public testing::Test {
 protected:
  static RigOptions with_registers() {
    RigOptions options;
    options.uar_type = UarType::registers;
    options.engine.sweep_idle_steps = 1'000'000;  // only doorbells are at work
    return options;
  }
  void store(std::uint32_t offset, const void* from, std::size_t size) {
    std::memcpy(page + offset, from, size);
  }
  std::uint64_t completed() {
    for (int i = 0; i < 40; ++i) {
      pages.poll(rig.a.engine, true);
      rig.step();
    }
    return rig.a.info().send_completed;
  }
  EngineRig rig{with_registers()};
  UarPages pages;
  std::uint8_t* page = static_cast<std::uint8_t*>(*pages.add(rig.a.uar, UarType::registers));
};

TEST_F(RegistersTest, EachHalfRings) {
  std::uint64_t expected = 0;
  for (const std::uint32_t offset : {0x800u, 0x900u, 0xa00u, 0xb00u}) {
    rig.a.post({});
    rig.a.store_record();
    const std::uint64_t value = rig.a.doorbell();
    store(offset, &value, sizeof value);
    EXPECT_EQ(completed(), ++expected) << offset;
  }
}

// The data segment of a WRITE from the first key of a NIC reads like a doorbell of another queue.
TEST_F(RegistersTest, WhatBlueFlameCopiesBehindTheDoorbellRingsNothing) {
  rig.a.post(write_wqe(rig, 0, 0, 64));
  rig.a.store_record();
  std::uint64_t line[8];
  std::memcpy(line, rig.a.sq.data(), sizeof line);
  for (std::size_t i = 1; i < 8; ++i) line[i] = format::doorbell_value(5 + i, rig.a.qpn);
  store(0x800, line, sizeof line);
  EXPECT_EQ(completed(), 1u);
  EXPECT_EQ(rig.a.info().send_producer, 1u);
  EXPECT_EQ(rig.a.engine.counters().doorbells, 1u);
  EXPECT_EQ(rig.a.info().state, QpState::rts);
}

// The other queue's index, with this one's number still before it.
TEST_F(RegistersTest, AHalfWrittenDoorbellAnnouncesNothing) {
  rig.a.post({});
  rig.a.store_record();
  const std::uint64_t own = rig.a.doorbell();
  store(0x800, &own, sizeof own);
  EXPECT_EQ(completed(), 1u);
  const std::uint64_t of_another = format::doorbell_value(9, rig.a.qpn + 1);
  store(0x800, &of_another, 4);
  EXPECT_EQ(completed(), 1u);
  EXPECT_EQ(rig.a.info().send_producer, 1u);
  EXPECT_EQ(rig.a.info().state, QpState::rts);
}

TEST_F(RegistersTest, OtherPlacesOfThePageRingNothing) {
  EXPECT_EQ(completed(), 0u);
  rig.a.post({});
  rig.a.store_record();
  const std::uint64_t value = rig.a.doorbell();
  for (const std::uint32_t offset : {0x0u, 0x20u, 0x808u, 0x8f8u, 0x908u, 0xbf8u, 0xc00u}) {
    store(offset, &value, sizeof value);
  }
  EXPECT_EQ(completed(), 0u);
  // 0x20 was seen, as an arm of a completion queue that does not exist.
  EXPECT_EQ(rig.a.engine.counters().dropped_doorbells, 1u);
  rig.a.engine.doorbell(rig.a.uar, 0x808, value);
  EXPECT_EQ(rig.a.engine.counters().dropped_doorbells, 2u);
}

}  // namespace
}  // namespace gdakit::softnic::test
