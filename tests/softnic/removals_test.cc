// What a removed object keeps from others, and until when.
#include "backends/softnic/engine/removals.h"

#include <gtest/gtest.h>

#include "backends/softnic/wire/shm_wire.h"
#include "backends/softnic/wire/wrapped_wire.h"
#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

// A wire that takes nothing while it is full, and whose peers are not through with what is recalled
// before they may be.
struct Held {
  bool full = false;
  bool recalls = false;
};
class HeldWire final : public WrappedWire {
 public:
  HeldWire(std::unique_ptr<Wire> inner, const Held& held)
      : WrappedWire(std::move(inner)), held_(held) {}

  bool send(const Packet& packet) override { return !held_.full && inner().send(packet); }
  bool recalled(Recall& recall) override { return !held_.recalls && inner().recalled(recall); }

 private:
  const Held& held_;
};

// All payload buffers wait in one queue pair's outbox. It is removed, and a peer takes its time.
TEST(Removals, PayloadBuffersWaitForThisNicsDmaAloneNotForPeers) {
  constexpr std::uint32_t kBytes = 4096;
  const auto segment = std::move(*ShmSegment::create({}));
  Held held{.full = true, .recalls = true};
  RigOptions options;
  options.engine.payload_buffers = 4;
  options.make_port = [](int) { return std::make_unique<DelayedDma>(1, /*ordered=*/true); };
  options.wrap_wire = [&](std::unique_ptr<Wire>, int side) -> std::unique_ptr<Wire> {
    auto wire = std::move(*segment->attach(static_cast<Endpoint>(side)));
    if (side == 1) return wire;
    return std::make_unique<HeldWire>(std::move(wire), held);
  };
  EngineRig rig(options);
  for (int i = 0; i < 20; ++i) rig.a.post(write_wqe(rig, 0, 0, kBytes));
  rig.a.ring();
  for (int i = 0; i < 200; ++i) rig.a.engine.step(++rig.now_ns);
  ASSERT_TRUE(rig.a.engine.destroy_qp(rig.a.qpn));
  const RemovalNumber number = rig.a.engine.last_removal();
  for (int i = 0; i < 200; ++i) rig.a.engine.step(++rig.now_ns);
  ASSERT_TRUE(rig.a.engine.left_to_peers(number));

  held.full = false;
  QpAttributes attributes = rig.a.another_qp(rig.a.record);
  attributes.log_send_wqebbs = options.log_sq;
  rig.a.qpn = *rig.a.engine.create_qp(attributes);
  rig.a.producer = 0;
  rig.a.store_record();
  ASSERT_TRUE(rig.b.engine.modify_qp(rig.b.qpn, {}));
  QpModify limits;
  limits.access = Access::all;
  EngineRig::connect(rig.a, rig.b, limits, 0, 0);
  EngineRig::connect(rig.b, rig.a, limits, 0, 0);
  rig.a.post(write_wqe(rig, 0, 0, kBytes));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_completed, 1u);
  EXPECT_FALSE(rig.a.engine.removed(number));
  held.recalls = false;
  EXPECT_TRUE(rig.a.engine.removed(number));
}

}  // namespace
}  // namespace gdakit::softnic::test
