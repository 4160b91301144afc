// The engine on ports whose operations finish later: whatever the order in which they do, what
// clients see is in order.
#include "tests/softnic/delayed_dma.h"

#include <gtest/gtest.h>

#include "backends/softnic/wire/shm_wire.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;

// Seed, whether writes have order, whether payload travels by value.
class DelayedDmaTest : public testing::TestWithParam<std::tuple<std::uint32_t, bool, bool>> {
 protected:
  RigOptions options() const {
    const auto [seed, ordered, by_value] = GetParam();
    RigOptions result;
    result.wire.mtu = 512;
    result.make_port = [seed = seed, ordered = ordered](int side) {
      return std::make_unique<DelayedDma>(seed * 2 + static_cast<std::uint32_t>(side), ordered);
    };
    if (by_value) {
      std::shared_ptr<ShmSegment> segment =
          std::move(*ShmSegment::create({.slots = 16, .mtu = 512}));
      result.engine.payload_buffers = 4;
      result.wrap_wire = [segment](std::unique_ptr<Wire>, int side) -> std::unique_ptr<Wire> {
        return std::move(*segment->attach(static_cast<Endpoint>(side)));
      };
    }
    return result;
  }
  // Steps until `side` has completed everything; `check` runs after each step.
  template <class Check>
  void run(EngineRig& rig, Side& side, Check check) {
    for (int steps = 0; side.info().send_completed != side.producer; ++steps) {
      ASSERT_LT(steps, 200'000);
      rig.step();
      check();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
};

TEST_P(DelayedDmaTest, AFlagNeverShowsBeforeThePayloadSentAheadOfIt) {
  EngineRig rig(options());
  for (std::uint64_t round = 1; round <= 20; ++round) {
    std::vector<std::uint64_t> payload(200, round);
    std::memcpy(rig.a.heap.data() + 8192, payload.data(), payload.size() * 8);
    rig.a.word<std::uint64_t>(0) = round;
    Wqe gather = write_wqe(rig, 8192, 8192, 152);
    for (const std::uint32_t size : {48u, 400u, 1000u})
      gather.body.push_back(rig.a.data(8192, size));
    rig.a.post(gather);
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.post(fetch_add_wqe(rig, 16, 8, 1));
    rig.a.ring();
    run(rig, rig.a, [&] {
      const auto flag = rig.b.word<std::uint64_t>(0);
      const auto count = rig.b.word<std::uint64_t>(8);
      ASSERT_LE(count, flag);
      if (flag != round) return;
      for (std::size_t i = 0; i < 200; ++i) {
        ASSERT_EQ(rig.b.word<std::uint64_t>(8192 + i * 8), round);
      }
    });
    ASSERT_TRUE(rig.run());
    ASSERT_EQ(rig.a.send_cq.poll_all().size(), 3u);
  }
}

TEST_P(DelayedDmaTest, ACqeNeverShowsBeforeTheDataItStandsFor) {
  EngineRig rig(options());
  for (std::uint64_t round = 1; round <= 15; ++round) {
    std::vector<std::uint64_t> payload(300, round);
    std::memcpy(rig.b.heap.data(), payload.data(), payload.size() * 8);
    rig.b.word<std::uint64_t>(4096) = round * 10;
    rig.b.post_receive({format::data(rig.b.heap_address(100'000), Be32{rig.b.key}, 900)});
    rig.a.post(read_wqe(rig, 0, 0, 2400));
    rig.a.post(fetch_add_wqe(rig, 8000, 4096, 1));
    rig.a.post(
        {.opcode = Opcode::send, .fence = format::FenceMode::fence, .body = {rig.a.data(0, 900)}});
    rig.a.ring();
    int cqes = 0, received = 0;
    run(rig, rig.a, [&] {
      while (const auto cqe = rig.a.send_cq.poll()) {
        ASSERT_EQ(opcode_of(*cqe), CqeOpcode::requester);
        ++cqes;
        if (cqes == 1) {
          ASSERT_EQ(std::memcmp(rig.a.heap.data(), payload.data(), 2400), 0);
        }
        if (cqes == 2) {
          ASSERT_EQ(rig.a.word<std::uint64_t>(8000), round * 10);
        }
      }
      while (rig.b.receive_cq.poll()) {
        ++received;
        ASSERT_EQ(std::memcmp(rig.b.heap.data() + 100'000, payload.data(), 900), 0);
      }
    });
    ASSERT_TRUE(rig.run());
    rig.a.send_cq.poll_all();
    received += static_cast<int>(rig.b.receive_cq.poll_all().size());
    ASSERT_EQ(received, 1);
  }
}

TEST_P(DelayedDmaTest, CollapsedCountersNeverGoBack) {
  RigOptions given = options();
  given.collapsed = true;
  given.log_cq = 0;
  EngineRig rig(given);
  std::uint16_t last = 0xffff;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 10; ++i) rig.a.post(write_wqe(rig, 0, 0, 64));
    rig.a.ring();
    const auto expected = static_cast<std::uint16_t>(rig.a.producer - 1);
    for (int steps = 0; last != expected; ++steps) {
      ASSERT_LT(steps, 100'000);
      rig.step();
      const std::uint16_t counter = rig.a.send_cq.at(0).wqe_counter;
      ASSERT_LE(static_cast<std::uint16_t>(counter - last), 10u);
      last = counter;
    }
  }
}

TEST_P(DelayedDmaTest, ErrorsFlushInOrder) {
  EngineRig rig(options());
  for (int i = 0; i < 5; ++i) {
    rig.a.post(i % 2 == 0 ? fetch_add_wqe(rig, 0, 0, 1) : read_wqe(rig, 0, 0, 1000));
  }
  Wqe bad = write_wqe(rig, 0, 0, 8);
  bad.body[0] = format::to_segment(format::remote_address(0, Be32{0}));
  rig.a.post(bad);
  for (int i = 0; i < 20; ++i) rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  run(rig, rig.a, [] {});
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.a.send_cq.poll_all();
  ASSERT_EQ(cqes.size(), 26u);
  for (std::size_t i = 0; i < cqes.size(); ++i) {
    EXPECT_EQ(cqes[i].wqe_counter, i);
    EXPECT_EQ(opcode_of(cqes[i]) == CqeOpcode::requester, i < 5);
  }
}

TEST_P(DelayedDmaTest, DestroyedQueuePairsWaitForTheirDma) {
  for (int steps = 0; steps < 12; ++steps) {
    EngineRig rig(options());
    for (int i = 0; i < 10; ++i) rig.a.post(read_wqe(rig, 0, 0, 1000));
    rig.a.ring();
    for (int i = 0; i < steps; ++i) rig.step();
    ASSERT_TRUE(rig.a.engine.destroy_qp(rig.a.qpn));
    for (int i = 0; !rig.a.engine.drained(); ++i) {
      ASSERT_LT(i, 10'000);
      rig.a.engine.step(++rig.now_ns);
    }
    // From here on nothing touches its queue or CQ.
    std::memset(rig.a.sq.data(), 0xaa, rig.a.sq.size());
    const format::Cqe64 before = rig.a.send_cq.at(0);
    for (int i = 0; i < 2000; ++i) rig.step();
    const format::Cqe64 after = rig.a.send_cq.at(0);
    EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0);
  }
}

// Copies wait until they are let go.
class HeldCopies final : public HostDma {
 public:
  explicit HeldCopies(const bool& is_held) : is_held_(is_held) {}

  DmaOp copy(DmaAddress to, DmaAddress from, std::size_t size) override {
    if (!is_held_) return HostDma::copy(to, from, size);
    held_.push_back({to, from, size});
    return {held_.size()};
  }
  DmaOp fence() override { return {held_.size()}; }
  bool done(DmaOp op) override { return op.id <= done_; }
  void poll() override {
    for (; !is_held_ && done_ < held_.size(); ++done_) {
      HostDma::copy(held_[done_].to, held_[done_].from, held_[done_].size);
    }
  }

 private:
  struct Copy {
    DmaAddress to, from;
    std::size_t size;
  };
  const bool& is_held_;
  std::vector<Copy> held_;
  std::size_t done_ = 0;
};

// The sender may have the payload back when no copy reads it, though its message was refused.
TEST(HeldCopies, APacketThatIsRefusedIsReadAsLongAsItsFirstBytesAreCopied) {
  bool is_held = true;
  RigOptions options;
  options.make_port = [&is_held](int side) -> std::unique_ptr<DmaPort> {
    if (side == 0) return std::make_unique<HostDma>();
    return std::make_unique<HeldCopies>(is_held);
  };
  EngineRig rig(options);
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 64)});
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 128)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  Recall recall = rig.a.wire->recall({.everything = true});
  ASSERT_TRUE(rig.run());
  EXPECT_FALSE(rig.a.wire->recalled(recall));
  is_held = false;
  ASSERT_TRUE(rig.run());
  EXPECT_TRUE(rig.a.wire->recalled(recall));
}

INSTANTIATE_TEST_SUITE_P(SeedsAndOrder, DelayedDmaTest,
                         testing::Combine(testing::Range(1u, 9u), testing::Bool(),
                                          testing::Bool()));

}  // namespace
}  // namespace gdakit::softnic::test
