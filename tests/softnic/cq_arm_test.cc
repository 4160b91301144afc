// Arming through an engine: the register of a doorbell page, and the record that needs none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/softnic/engine/uar.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Opcode;
using testing::ElementsAre;
using testing::IsEmpty;

class CqArmTest : public testing::Test {
 protected:
  static RigOptions armable() {
    RigOptions options;
    options.armable = true;
    options.engine.sweep_idle_steps = 1'000'000;  // only the register is at work
    return options;
  }
  static RigOptions sweeping() {
    RigOptions options;
    options.armable = true;
    return options;
  }
  // Fewer steps than until a sweep.
  static void run(EngineRig& rig) {
    for (int i = 0; i < 40; ++i) rig.step();
  }
  static void write(EngineRig& rig) {
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.ring();
    run(rig);
  }
  static Event completion(CqNumber cqn) { return {EventKind::completion, cqn}; }

  EngineRig rig{armable()};
};

TEST_F(CqArmTest, ACqeOfAnArmedQueueIsToldOnce) {
  write(rig);
  EXPECT_THAT(rig.a.events.take(), IsEmpty());
  rig.a.send_cq.poll_all();
  for (int lap = 0; lap < 6; ++lap) {
    rig.a.arm(rig.a.send_cq, rig.a.send_cqn);
    run(rig);
    EXPECT_THAT(rig.a.events.take(), IsEmpty());
    write(rig);
    write(rig);
    EXPECT_THAT(rig.a.events.take(), ElementsAre(completion(rig.a.send_cqn)));
    ++rig.a.send_cq.events_read;
    EXPECT_EQ(rig.a.send_cq.poll_all().size(), 2u);
  }
  EXPECT_EQ(rig.a.engine.counters().cq_doorbells, 6u);
  EXPECT_THAT(rig.b.events.take(), IsEmpty());
}

TEST_F(CqArmTest, AnArmThatComesAfterTheCqeIsToldOfIt) {
  write(rig);
  rig.a.arm(rig.a.send_cq, rig.a.send_cqn);
  run(rig);
  EXPECT_THAT(rig.a.events.take(), ElementsAre(completion(rig.a.send_cqn)));
}

TEST_F(CqArmTest, OnlyASolicitedSendIsToldOfToWhoWantsNoOther) {
  for (const bool solicited : {false, true}) {
    rig.b.arm(rig.b.receive_cq, rig.b.receive_cqn, /*solicited_only=*/true);
    rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 8)});
    Wqe wqe{.opcode = Opcode::send, .solicited = solicited, .body = {rig.a.data(0, 8)}};
    rig.a.post(wqe);
    rig.a.ring();
    run(rig);
    EXPECT_TRUE(rig.b.receive_cq.poll());
    EXPECT_EQ(rig.b.events.take().size(), solicited ? 1u : 0u);
  }
}

TEST_F(CqArmTest, AFailureIsToldOfToWhoWantsSolicitedOnes) {
  rig.a.arm(rig.a.send_cq, rig.a.send_cqn, /*solicited_only=*/true);
  write(rig);
  EXPECT_THAT(rig.a.events.take(), IsEmpty());
  Wqe bad = write_wqe(rig, 0, 0, 8);
  bad.opmod = 3;
  rig.a.post(bad);
  rig.a.ring();
  run(rig);
  EXPECT_THAT(rig.a.events.take(), ElementsAre(completion(rig.a.send_cqn)));
}

TEST_F(CqArmTest, OnlyTheQueuesOwnPageArmsIt) {
  Engine& engine = rig.a.engine;
  const UarNumber other = *engine.alloc_uar(UarType::registers);
  const Be32 word = rig.a.send_cq.store_arm();
  const std::uint64_t value = format::cq_arm_value(word, rig.a.send_cqn);
  engine.doorbell(other, format::kUarCqArm, value);
  engine.doorbell(rig.a.uar, format::kUarCqArm, value);  // a dense page
  engine.doorbell(other + 9, format::kUarCqArm, value);
  engine.doorbell(rig.a.arm_page, format::kUarCqArm + 8, value);
  engine.doorbell(rig.a.arm_page, format::kUarCqArm, format::cq_arm_value(word, 0x1234));
  run(rig);
  EXPECT_EQ(engine.query_cq(rig.a.send_cqn)->armed, CqArmed::fired);
  EXPECT_EQ(engine.counters().dropped_doorbells, 5u);
  EXPECT_EQ(engine.counters().cq_doorbells, 0u);
  engine.doorbell(rig.a.arm_page, format::kUarCqArm, value);
  run(rig);
  EXPECT_EQ(engine.query_cq(rig.a.send_cqn)->armed, CqArmed::any);
}

// The register said that there is something to see; what it is, the record says.
TEST_F(CqArmTest, TheRecordSaysWhatItIsArmedFor) {
  rig.a.send_cq.store_arm(/*solicited_only=*/true);
  rig.a.engine.doorbell(rig.a.arm_page, format::kUarCqArm,
                        format::cq_arm_value(format::cq_arm(3, false, 99), rig.a.send_cqn));
  run(rig);
  EXPECT_EQ(rig.a.engine.query_cq(rig.a.send_cqn)->armed, CqArmed::solicited);
}

TEST_F(CqArmTest, ThroughAPage) {
  UarPages pages;
  auto* page = static_cast<std::uint8_t*>(*pages.add(rig.a.arm_page, UarType::registers));
  const auto store = [&](std::uint32_t offset, std::uint64_t value) {
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(page + offset), value, __ATOMIC_RELEASE);
  };
  EXPECT_FALSE(pages.poll(rig.a.engine, true));
  // Cold, hot, and without thorough polls.
  for (int lap = 0; lap < 3; ++lap) {
    store(format::kUarCqArm, format::cq_arm_value(rig.a.send_cq.store_arm(), rig.a.send_cqn));
    EXPECT_TRUE(pages.poll(rig.a.engine, /*thorough=*/lap == 0));
    EXPECT_FALSE(pages.poll(rig.a.engine, /*thorough=*/true));
    write(rig);
    EXPECT_THAT(rig.a.events.take(), ElementsAre(completion(rig.a.send_cqn)));
    ++rig.a.send_cq.events_read;
    rig.a.send_cq.poll_all();
  }
  // What this NIC has none of.
  store(format::kUarEqArm, 0x1122334455667788);
  store(format::kUarEqUpdate, 0x1122334455667788);
  store(format::kUarNoRecordDoorbell, format::doorbell_value(9, rig.a.qpn));
  EXPECT_TRUE(pages.poll(rig.a.engine, true));
  run(rig);
  EXPECT_EQ(rig.a.engine.counters().eq_doorbells, 2u);
  EXPECT_EQ(rig.a.engine.counters().dropped_doorbells, 1u);
  EXPECT_EQ(rig.a.info().send_producer, 3u);
}

// Two queues share one register, and the second arm is stored before anybody looks.
TEST_F(CqArmTest, AnArmThatAnotherOneOverwroteIsFoundInTheRecord) {
  EngineRig sweeps(sweeping());
  UarPages pages;
  auto* page = static_cast<std::uint8_t*>(*pages.add(sweeps.a.arm_page, UarType::registers));
  auto* word = reinterpret_cast<std::uint64_t*>(page + format::kUarCqArm);
  *word = format::cq_arm_value(sweeps.a.send_cq.store_arm(), sweeps.a.send_cqn);
  *word = format::cq_arm_value(sweeps.a.receive_cq.store_arm(), sweeps.a.receive_cqn);
  EXPECT_TRUE(pages.poll(sweeps.a.engine, true));
  ASSERT_TRUE(sweeps.run());
  EXPECT_EQ(sweeps.a.engine.counters().cq_doorbells, 1u);
  for (const CqNumber cqn : {sweeps.a.send_cqn, sweeps.a.receive_cqn}) {
    EXPECT_EQ(sweeps.a.engine.query_cq(cqn)->armed, CqArmed::any);
  }
  // The one that was lost may be the first arm's own value again, so that the word never changed.
  write(sweeps);
  EXPECT_THAT(sweeps.a.events.take(), ElementsAre(completion(sweeps.a.send_cqn)));
  ++sweeps.a.send_cq.events_read;
  sweeps.a.send_cq.poll_all();
  const std::uint64_t before = *word;
  *word = format::cq_arm_value(sweeps.a.send_cq.store_arm(), sweeps.a.send_cqn);
  *word = before;
  EXPECT_FALSE(pages.poll(sweeps.a.engine, true));
  ASSERT_TRUE(sweeps.run());
  EXPECT_EQ(sweeps.a.engine.query_cq(sweeps.a.send_cqn)->armed, CqArmed::any);
}

TEST_F(CqArmTest, AnArmIsFoundInTheRecordWhileThereIsWork) {
  EngineRig sweeps(sweeping());
  sweeps.b.receive_cq.store_arm();
  bool found = false;
  for (int i = 0; i < 5000 && !found; ++i) {
    sweeps.a.post(write_wqe(sweeps, 0, 0, 8));
    sweeps.a.ring();
    sweeps.step();
    sweeps.step();
    sweeps.a.send_cq.poll_all();
    found = sweeps.b.engine.query_cq(sweeps.b.receive_cqn)->armed == CqArmed::any;
  }
  EXPECT_TRUE(found);
}

TEST_F(CqArmTest, AnIdleEngineThatLooksAtRecordsIsIdle) {
  EngineRig sweeps(sweeping());
  ASSERT_TRUE(sweeps.run(10'000));
  EXPECT_FALSE(sweeps.step());
}

TEST_F(CqArmTest, ADestroyedQueueTellsNothing) {
  Engine& engine = rig.a.engine;
  CqReader reader(2, false);
  CqAttributes attributes;
  attributes.entries = reader.address();
  attributes.log_entries = 2;
  attributes.doorbell_record = reader.record();
  attributes.uar = rig.a.arm_page;
  const CqNumber cqn = *engine.create_cq(attributes);
  rig.a.arm(reader, cqn);
  ASSERT_TRUE(engine.destroy_cq(cqn));
  rig.a.arm(reader, cqn);
  EXPECT_EQ(engine.counters().dropped_doorbells, 1u);
  EXPECT_FALSE(engine.query_cq(cqn));
  run(rig);
  EXPECT_TRUE(engine.drained());
  EXPECT_THAT(rig.a.events.take(), IsEmpty());
}

TEST_F(CqArmTest, NeedsARecordAndAPageOfRegistersThatStays) {
  Engine& engine = rig.a.engine;
  CqReader reader(2, true);
  CqAttributes attributes;
  attributes.entries = reader.address();
  attributes.collapsed = true;
  attributes.overrun_ignore = true;
  attributes.uar = rig.a.arm_page;
  const auto refused = [&] { return engine.create_cq(attributes).status().syndrome; };
  EXPECT_EQ(refused(), CommandSyndrome::create_cq_no_record);
  attributes.doorbell_record = reader.record() + 4;
  EXPECT_EQ(refused(), CommandSyndrome::create_cq_record_alignment);
  attributes.doorbell_record = reader.record();
  attributes.uar = rig.a.uar;  // dense
  EXPECT_EQ(refused(), CommandSyndrome::create_cq_uar_type);
  attributes.uar = 0x1234;
  EXPECT_EQ(refused(), CommandSyndrome::create_cq_uar);
  const UarNumber page = *engine.alloc_uar(UarType::registers);
  attributes.uar = page;
  const CqNumber cqn = *engine.create_cq(attributes);
  EXPECT_EQ(engine.free_uar(page).status().syndrome, CommandSyndrome::free_uar_busy);
  ASSERT_TRUE(engine.destroy_cq(cqn));
  EXPECT_TRUE(engine.free_uar(page));
}

TEST_F(CqArmTest, CqesOf128BytesGoThroughAnEngine) {
  RigOptions options = armable();
  options.cqe_size = CqeSize::bytes_128;
  options.log_cq = 2;
  EngineRig wide(options);
  for (std::uint16_t i = 0; i < 20; ++i) {
    write(wide);
    const auto cqe = wide.a.send_cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->wqe_counter, i);
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
