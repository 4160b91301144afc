// Send queues of UC that have failed, and are brought back to state rts.
#include <gtest/gtest.h>

#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/uc_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Syndrome;
TEST(UcBroughtBack, WhatWasAnnouncedBeforeTheQueueIsBroughtBackIsFlushed) {
  constexpr std::size_t kGood = 100;
  RigOptions options = uc_options();
  options.log_sq = 7;
  EngineRig rig(options);
  rig.a.post(read_wqe(rig, 0, 0, 8));
  for (std::size_t i = 0; i < kGood; ++i) rig.a.post(write_wqe(rig, kTo, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.send_cq.poll().has_value(); }));
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::rts}));
  ASSERT_TRUE(rig.run());
  const auto flushed = rig.a.send_cq.poll_all();
  ASSERT_EQ(flushed.size(), kGood);
  for (const auto& cqe : flushed) EXPECT_EQ(syndrome_of(cqe), Syndrome::flushed);
  rig.a.post(write_wqe(rig, kTo, 0, 8));
  ring_and_run(rig);
  expect_sent(rig.a);
  // It fails again as it did before.
  rig.a.post(read_wqe(rig, 0, 0, 8));
  rig.a.post(write_wqe(rig, kTo, 0, 8));
  ring_and_run(rig);
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 2u);
  EXPECT_EQ(rig.a.info().state, QpState::sqer);
}

// Also what the NIC has not read the record for, since the call came right behind the doorbell.
void expect_flushed_if_posted_before(const RigOptions& options) {
  EngineRig rig(options);
  rig.a.post(read_wqe(rig, 0, 0, 8));
  ring_and_run(rig);
  ASSERT_EQ(rig.a.info().state, QpState::sqer);
  rig.a.send_cq.poll_all();
  rig.a.post(write_wqe(rig, kTo, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::rts}));
  ASSERT_TRUE(rig.run());
  const auto flushed = rig.a.send_cq.poll();
  ASSERT_TRUE(flushed);
  EXPECT_EQ(syndrome_of(*flushed), Syndrome::flushed);
  rig.a.post(write_wqe(rig, kTo, 0, 8));
  ring_and_run(rig);
  expect_sent(rig.a);
}

TEST(UcBroughtBack, WhatWasRungBeforeTheQueueIsBroughtBackIsFlushed) {
  for (const UarType type : {UarType::registers, UarType::dense}) {
    RigOptions options = uc_options();
    options.uar_type = type;
    expect_flushed_if_posted_before(options);
    options.make_port = [](int) { return std::make_unique<DelayedDma>(5, /*ordered=*/true); };
    expect_flushed_if_posted_before(options);
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
