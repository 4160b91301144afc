// What a queue pair that fails leaves behind: its requests are taken back before the client hears
// of it, and its buffers are there for others.
#include <gtest/gtest.h>

#include "backends/softnic/wire/shm_wire.h"
#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

using format::Opcode;
using format::Syndrome;

constexpr std::uint8_t kOld = 0x11, kNew = 0x99;
constexpr std::size_t kBytes = 4096;

// The client reuses its buffer as soon as it has the CQE; b comes to the packets afterwards.
void expect_nothing_new_at_b(EngineRig& rig) {
  for (int i = 0; i < 100; ++i) rig.a.engine.step(++rig.now_ns);
  const auto cqe = rig.a.send_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(syndrome_of(*cqe), Syndrome::flushed);
  std::memset(rig.a.heap.data(), kNew, kBytes);
  ASSERT_TRUE(rig.run());
  for (std::size_t i = 0; i < kBytes; ++i) ASSERT_NE(rig.b.heap.data()[i], kNew) << i;
}

TEST(Withdrawal, AWriteThatWasFlushedIsNotReadLater) {
  EngineRig rig;
  std::memset(rig.a.heap.data(), kOld, kBytes);
  rig.a.post(write_wqe(rig, 0, 0, kBytes));
  rig.a.ring();
  for (int i = 0; i < 10; ++i) rig.a.engine.step(++rig.now_ns);
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::err}));
  expect_nothing_new_at_b(rig);
}

TEST(Withdrawal, ASendThatWasFlushedIsNotReceivedLater) {
  EngineRig rig;
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, kBytes)});
  std::memset(rig.a.heap.data(), kOld, kBytes);
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, kBytes)}});
  rig.a.ring();
  for (int i = 0; i < 10; ++i) rig.a.engine.step(++rig.now_ns);
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::err}));
  expect_nothing_new_at_b(rig);
  EXPECT_FALSE(rig.b.receive_cq.poll());
}

// Payload that is read into buffers first, by DMA that takes its time, for a wire without room.
TEST(Withdrawal, AQueueThatFailedKeepsNoBuffersAndSendsNothing) {
  const auto segment = std::move(*ShmSegment::create({}));
  bool full = true;
  RigOptions options;
  options.settings.retry_count = 0;
  options.settings.ack_timeout = 5;
  options.make_port = [](int) { return std::make_unique<DelayedDma>(1, /*ordered=*/true); };
  options.wrap_wire = [&](std::unique_ptr<Wire>, int side) -> std::unique_ptr<Wire> {
    auto wire = std::move(*segment->attach(static_cast<Endpoint>(side)));
    if (side == 1) return wire;
    return std::make_unique<LossyWire>(std::move(wire), Losses{.full = [&] { return full; }});
  };
  EngineRig rig(options);
  for (int i = 0; i < 20; ++i) rig.a.post(write_wqe(rig, 0, 0, kBytes));
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 20; }));
  ASSERT_EQ(rig.a.info().state, QpState::err);
  for (int i = 0; i < 1000; ++i) rig.a.engine.step(++rig.now_ns);
  EXPECT_FALSE(rig.a.engine.waiting());
  full = false;
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.engine.counters().packets_sent, 0u);
}

}  // namespace
}  // namespace gdakit::softnic::test
