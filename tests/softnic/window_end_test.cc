// When a memory window has ended, its memory is the client's: no access by it is under way any
// more.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "backends/softnic/wire/wrapped_wire.h"
#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/window_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;

constexpr std::uint32_t kBytes = 8192;
constexpr std::uint8_t kOld = 0x11, kNew = 0x99;

enum class Port : std::uint8_t { at_once, later, unordered };
enum class End : std::uint8_t { local_invalidate, remote_invalidate, deallocation };

class WindowEnd : public testing::TestWithParam<std::tuple<Port, End>> {
 protected:
  WindowEnd() {
    const Port port = std::get<0>(GetParam());
    if (port == Port::at_once) return;
    options_.make_port = [=, this](int) {
      return std::make_unique<DelayedDma>(seed_++, port == Port::later);
    };
  }

  // b's window has ended, as far as its client is told.
  static bool has_ended(Side& b, End end) {
    switch (end) {
      case End::deallocation: return b.engine.removed(b.engine.last_removal());
      case End::local_invalidate: {
        const auto cqe = b.send_cq.poll();
        return cqe && opcode_of(*cqe) == CqeOpcode::requester;
      }
      case End::remote_invalidate: break;
    }
    const auto cqe = b.receive_cq.poll();
    return cqe && opcode_of(*cqe) == CqeOpcode::responder_send_inv;
  }
  static void begin_end(WindowRig& rig, End end) {
    switch (end) {
      case End::deallocation: ASSERT_TRUE(rig.b.engine.dealloc_mw(rig.window)); return;
      case End::local_invalidate:
        rig.b.post(invalidate_wqe(rig.window));
        rig.b.ring();
        return;
      case End::remote_invalidate:
        rig.a.post({.opcode = Opcode::send_inval, .imm = rig.key, .body = {rig.a.data(0, 0)}});
        rig.a.ring();
    }
  }
  static void step_some(WindowRig& rig, std::mt19937& random) {
    ++rig.now_ns;
    if (random() % 2 == 0) rig.a.engine.step(rig.now_ns);
    if (random() % 2 == 0) rig.b.engine.step(rig.now_ns);
  }
  // a asks for something while the window ends; b's client writes to the memory once it has.
  void run(WindowRig& rig, Wqe wqe, std::mt19937& random) {
    Bind bind = rig.bind_of(1);
    bind.length = kBytes;
    ASSERT_EQ(rig.do_bind(bind), format::Syndrome::none);
    std::memset(rig.b.heap.data() + kWindowAt, kOld, kBytes);
    wqe.body[0] = format::to_segment(format::remote_address(rig.start(), Be32{rig.key}));
    rig.b.post_receive({});
    rig.a.post(wqe);
    rig.a.ring();
    for (std::size_t steps = random() % 20; steps != 0; --steps) step_some(rig, random);
    begin_end(rig, end_);
    ended_ = false;
    for (int i = 0; i < 1000; ++i) {
      step_some(rig, random);
      if (ended_ || !has_ended(rig.b, end_)) continue;
      ended_ = true;
      std::memset(rig.b.heap.data() + kWindowAt, kNew, kBytes);
    }
    ASSERT_TRUE(rig.run());
  }

  static constexpr std::uint32_t kRuns = 100;
  RigOptions options_;
  std::uint32_t seed_ = 1;
  const End end_ = std::get<1>(GetParam());
  bool ended_ = false;
};
INSTANTIATE_TEST_SUITE_P(
    Windows, WindowEnd,
    testing::Combine(testing::Values(Port::at_once, Port::later, Port::unordered),
                     testing::Values(End::local_invalidate, End::remote_invalidate,
                                     End::deallocation)));

TEST_P(WindowEnd, NothingIsReadBehindIt) {
  for (std::uint32_t seed = 0; seed < kRuns; ++seed) {
    std::mt19937 random(seed);
    WindowRig rig(WindowType::type_2, options_);
    run(rig, read_wqe(rig, 0, 0, kBytes), random);
    const auto cqe = rig.a.send_cq.poll();
    ASSERT_TRUE(cqe);
    if (opcode_of(*cqe) != CqeOpcode::requester) continue;
    const std::uint8_t* const read = rig.a.heap.data();
    EXPECT_EQ(std::count(read, read + kBytes, kOld), kBytes) << "seed " << seed;
  }
}

TEST_P(WindowEnd, NothingIsWrittenBehindIt) {
  for (std::uint32_t seed = 0; seed < kRuns; ++seed) {
    std::mt19937 random(seed);
    WindowRig rig(WindowType::type_2, options_);
    run(rig, write_wqe(rig, 0, 0, kBytes), random);
    if (!ended_) continue;
    const std::uint8_t* const at = rig.b.heap.data() + kWindowAt;
    EXPECT_EQ(std::count(at, at + kBytes, kNew), kBytes) << "seed " << seed;
  }
}

// Sends its last READ request again when it is told to.
class RepeatingWire final : public WrappedWire {
 public:
  explicit RepeatingWire(std::unique_ptr<Wire> inner) : WrappedWire(std::move(inner)) {}
  bool send(const Packet& packet) override {
    if (packet.header.opcode == PacketOpcode::read_request) read_ = packet;
    return inner().send(packet);
  }
  void repeat() {
    ASSERT_TRUE(read_);
    ASSERT_TRUE(inner().send(*read_));
    inner().flush();
  }

 private:
  std::optional<Packet> read_;
};

// It was answered before, so nothing is wrong with the connection.
TEST(LateDuplicate, OfAReadByAWindowThatHasEndedIsDropped) {
  RigOptions options;
  RepeatingWire* wire = nullptr;
  options.wrap_wire = [&](std::unique_ptr<Wire> inner, int side) -> std::unique_ptr<Wire> {
    if (side == 1) return inner;
    auto repeating = std::make_unique<RepeatingWire>(std::move(inner));
    wire = repeating.get();
    return repeating;
  };
  WindowRig rig(WindowType::type_2, options);
  ASSERT_EQ(rig.do_bind(1), format::Syndrome::none);
  ASSERT_EQ(rig.read(), format::Syndrome::none);
  ASSERT_EQ(rig.send_with_invalidate(rig.key), format::Syndrome::none);
  wire->repeat();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.b.info().state, QpState::rts);
  EXPECT_EQ(rig.write(0, 8, rig.b.key), format::Syndrome::none);
}

// A SEND that may not end the key that it names has been scattered by then.
TEST(RefusedInvalidate, NothingIsWrittenBehindItsError) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    RigOptions options;
    options.make_port = [=](int side) {
      return std::make_unique<DelayedDma>(seed * 2 + side, false);
    };
    EngineRig rig(options);
    rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, kBytes)});
    rig.a.post({.opcode = Opcode::send_inval, .imm = rig.b.key, .body = {rig.a.data(0, kBytes)}});
    rig.a.ring();
    std::optional<format::Cqe64> cqe;
    for (int i = 0; i < 1000 && !cqe; ++i) {
      rig.step();
      cqe = rig.b.receive_cq.poll();
    }
    ASSERT_TRUE(cqe);
    EXPECT_EQ(syndrome_of(*cqe), format::Syndrome::local_access);
    std::memset(rig.b.heap.data(), kNew, kBytes);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(std::count(rig.b.heap.data(), rig.b.heap.data() + kBytes, kNew), kBytes);
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
