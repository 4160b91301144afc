// What the tests of engines rely on.
#include "tests/softnic/engine_rig.h"

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

// Nobody answers: both sides wait for their retry timers, b for much longer.
TEST(EngineRig, ItsClockJumpsToTheEarliestTimerOfAll) {
  RigOptions options;
  options.settings.ack_timeout = 5;
  options.wrap_wire = [](std::unique_ptr<Wire> wire, int) -> std::unique_ptr<Wire> {
    return std::make_unique<LossyWire>(std::move(wire), Losses{.drop_percent = 100});
  };
  EngineRig rig(options);
  QpModify limits;
  ASSERT_TRUE(rig.b.engine.modify_qp(rig.b.qpn, limits));  // reset
  limits.ack_timeout = 14;
  EngineRig::connect(rig.b, rig.a, limits, 7, 0);
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.b.post({.opcode = format::Opcode::rdma_write, .body = {rig.a.remote(0), rig.b.data(0, 8)}});
  rig.a.ring();
  rig.b.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.engine.counters().retries == 1; }));
  EXPECT_EQ(rig.b.engine.counters().retries, 0u);
  EXPECT_LT(rig.now_ns, std::uint64_t{4096} << 14);
  ASSERT_TRUE(rig.run_until([&] { return rig.b.engine.counters().retries == 1; }));
  EXPECT_GE(rig.now_ns, std::uint64_t{4096} << 14);
}

}  // namespace
}  // namespace gdakit::softnic::test
