// Events of a CQ that are held back until there are more CQEs, or for a while.
#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

class CqModerationTest : public testing::Test {
 protected:
  static RigOptions armable() {
    RigOptions options;
    options.armable = true;
    options.engine.sweep_idle_steps = 1'000'000;  // only the register is at work
    return options;
  }
  void moderate(std::uint16_t period_us, std::uint16_t max_count) {
    ASSERT_TRUE(rig.a.engine.moderate_cq(rig.a.send_cqn, {period_us, max_count}));
  }
  void arm() {
    rig.a.arm(rig.a.send_cq, rig.a.send_cqn);
    run_us(10);
  }
  void write() {
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.ring();
    run_us(10);
  }
  // Steps are 100 ns apart.
  void run_us(int us) {
    for (int i = 0; i < 10 * us; ++i) rig.step();
  }
  std::size_t told() { return rig.a.events.take().size(); }

  EngineRig rig{armable()};
};

TEST_F(CqModerationTest, AnEventComesWithSoManyCqes) {
  moderate(0, 3);
  for (int lap = 0; lap < 3; ++lap) {
    arm();
    for (int i = 0; i < 2; ++i) write();
    run_us(1000);
    EXPECT_EQ(told(), 0u) << "there is no time that it waits for";
    EXPECT_FALSE(rig.a.engine.waiting());
    write();
    EXPECT_EQ(told(), 1u);
    ++rig.a.send_cq.events_read;
    EXPECT_EQ(rig.a.send_cq.poll_all().size(), 3u);
  }
}

TEST_F(CqModerationTest, AnEventComesOnceTheFirstCqeIsSoOld) {
  for (const std::uint16_t count : {0, 9}) {
    moderate(100, count);
    arm();
    write();
    run_us(50);
    EXPECT_EQ(told(), 0u);
    EXPECT_TRUE(rig.a.engine.waiting());
    write();
    run_us(50);
    EXPECT_EQ(told(), 1u);
    run_us(200);
    EXPECT_EQ(told(), 0u);
    EXPECT_FALSE(rig.a.engine.waiting());
    ++rig.a.send_cq.events_read;
    rig.a.send_cq.poll_all();
  }
}

TEST_F(CqModerationTest, OfOneCqeNoneIsHeldBack) {
  moderate(1000, 1);
  arm();
  write();
  EXPECT_EQ(told(), 1u);
}

TEST_F(CqModerationTest, AnArmThatComesAfterTheCqesCountsThem) {
  moderate(0, 2);
  for (int i = 0; i < 2; ++i) write();
  arm();
  EXPECT_EQ(told(), 1u);
}

TEST_F(CqModerationTest, WhatIsHeldBackIsToldOfWhenModerationEnds) {
  moderate(0, 5);
  arm();
  write();
  EXPECT_EQ(told(), 0u);
  moderate(0, 0);
  run_us(10);
  EXPECT_EQ(told(), 1u);
}

TEST_F(CqModerationTest, AnArmForLaterCqesTakesTheEventBack) {
  moderate(100, 0);
  arm();
  write();
  rig.a.send_cq.poll_all();
  arm();  // it has seen that one
  run_us(300);
  EXPECT_EQ(told(), 0u);
  EXPECT_FALSE(rig.a.engine.waiting());
  write();
  run_us(120);
  EXPECT_EQ(told(), 1u);
}

TEST_F(CqModerationTest, ACqMayGoWhileItHoldsAnEventBack) {
  EngineRig fresh{armable()};
  Side& side = fresh.a;
  ASSERT_TRUE(side.engine.moderate_cq(side.send_cqn, {4095, 0}));
  side.arm(side.send_cq, side.send_cqn);
  side.post(write_wqe(fresh, 0, 0, 8));
  side.ring();
  for (int i = 0; i < 100; ++i) fresh.step();
  ASSERT_TRUE(side.engine.destroy_qp(side.qpn));
  ASSERT_TRUE(side.engine.destroy_cq(side.send_cqn));
  for (int i = 0; i < 100; ++i) fresh.step();
  EXPECT_TRUE(side.events.take().empty());
}

}  // namespace
}  // namespace gdakit::softnic::test
