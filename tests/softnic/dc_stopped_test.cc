// DC: initiators whose clients are stopped, so that there is no room for what targets say to them.
// They do not keep responders from others for long, and go on when they run again.
#include <memory>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "backends/softnic/wire/wrapped_wire.h"
#include "tests/softnic/dc_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Syndrome;

constexpr std::size_t kSum = 1 << 18, kResult = 1 << 19;
constexpr std::uint32_t kSize = 20'000;
// From when others first ask: the time that a target waits for room, and pauses.
constexpr std::uint64_t kSoonNs = 150'000'000;

// Has no room for packets to the queue pairs in a set.
class ShutWire final : public WrappedWire {
 public:
  ShutWire(std::unique_ptr<Wire> inner, const std::set<QpNumber>& shut)
      : WrappedWire(std::move(inner)), shut_(shut) {}

  bool send(const Packet& packet) override {
    return !shut_.contains(packet.header.destination_qpn) && WrappedWire::send(packet);
  }

 private:
  const std::set<QpNumber>& shut_;
};

struct Stopped {
  explicit Stopped(std::size_t initiators, std::uint32_t responders = 1)
      : rig(options(initiators, responders, shut)) {
    fill(rig.rig.a.heap.data(), kSize, 1);
    rig.rig.b.word<std::uint64_t>(kSum) = 0;
    for (std::size_t i = 0; i < 4; ++i) rig.srq.post({rig.segment(i * kSize, kSize)});
  }
  static DcRigOptions options(std::size_t initiators, std::uint32_t responders,
                              const std::set<QpNumber>& shut) {
    DcRigOptions options;
    options.initiators = initiators;
    options.ack_timeout = 16;  // a quarter of a second: those that are stopped have no timers
    options.rig.wire.mtu = 1024;
    options.rig.engine.dc = {.responders = responders, .tenure_ns = 200'000};
    options.rig.wrap_wire = [&shut](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
      if (side == 0) return wire;
      return std::make_unique<ShutWire>(std::move(wire), shut);
    };
    return options;
  }
  void stop(std::size_t initiator) { shut.insert(rig.initiators[initiator]->qpn); }
  void go_on() { shut.clear(); }
  void step(int count) {
    for (int i = 0; i < count; ++i) rig.rig.step();
  }
  // One of each kind.
  std::vector<Wqe> operations() const {
    return {rig.write(kSize * 8, 0, kSize), read_wqe(rig.rig, kResult + 64, 0, kSize),
            fetch_add_wqe(rig.rig, kResult, kSum, 1), rig.send_wqe(0, kSize)};
  }
  // The initiator's work is done soon.
  void expect_soon(std::size_t initiator) {
    const std::uint64_t began_ns = rig.rig.now_ns;
    rig.send(initiator, 0, rig.write(0, 0, 8));
    EXPECT_EQ(rig.next(initiator), Syndrome::none);
    EXPECT_LT(rig.rig.now_ns - began_ns, kSoonNs);
  }

  std::set<QpNumber> shut;
  DcRig rig;
};

TEST(DcStopped, AnInitiatorShutsNobodyOutForLong) {
  for (std::size_t kind = 0; kind < 4; ++kind) {
    Stopped rig(2);
    rig.stop(0);
    rig.rig.send(0, 0, rig.operations()[kind]);
    rig.step(200);
    rig.expect_soon(1);
  }
}

TEST(DcStopped, AnInitiatorGoesOnAndEachRequestIsExecutedOnce) {
  Stopped rig(2);
  DcRig& dc = rig.rig;
  rig.stop(0);
  for (const Wqe& wqe : rig.operations()) dc.send(0, 0, wqe);
  rig.step(200);
  rig.expect_soon(1);
  rig.go_on();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(dc.next(0), Syndrome::none);
  const std::uint8_t* const sent = dc.rig.a.heap.data();
  EXPECT_EQ(std::memcmp(dc.rig.b.heap.data() + kSize * 8, sent, kSize), 0);
  EXPECT_EQ(std::memcmp(dc.rig.a.heap.data() + kResult + 64, dc.rig.b.heap.data(), kSize), 0);
  EXPECT_EQ(dc.rig.b.word<std::uint64_t>(kSum), 1u);
  EXPECT_EQ(dc.rig.a.word<std::uint64_t>(kResult), 0u);
  EXPECT_EQ(dc.rig.b.receive_cq.poll_all().size(), 1u);
}

// It is refused, which nobody can tell it.
TEST(DcStopped, AnInitiatorThatIsRefusedShutsNobodyOutForLong) {
  Stopped rig(2);
  rig.stop(0);
  rig.rig.send(0, 0, rig.rig.write(rig.rig.rig.b.heap.size(), 0, 8));
  rig.step(200);
  rig.expect_soon(1);
}

// Its client has ended the connection, while the target had much to say.
TEST(DcStopped, AConnectionThatHasEndedShutsNobodyOutForLong) {
  Stopped rig(2);
  rig.stop(0);
  rig.rig.send(0, 0, rig.operations()[1]);
  rig.step(200);
  ASSERT_TRUE(rig.rig.rig.a.engine.modify_qp(rig.rig.initiators[0]->qpn, {.state = QpState::err}));
  rig.step(200);
  rig.expect_soon(1);
}

TEST(DcStopped, ManyInitiatorsTakeNoLonger) {
  constexpr std::size_t kEach = 8;
  Stopped rig(2 * kEach, kEach);
  for (std::size_t i = 0; i < kEach; ++i) {
    rig.stop(i);
    rig.rig.send(i, 0, rig.operations()[i % 2]);
  }
  rig.step(500);
  for (std::size_t i = kEach; i < 2 * kEach; ++i) rig.rig.send(i, 0, rig.rig.write(0, 0, 8));
  const std::uint64_t began_ns = rig.rig.rig.now_ns;
  for (std::size_t i = kEach; i < 2 * kEach; ++i) EXPECT_EQ(rig.rig.next(i), Syndrome::none);
  EXPECT_LT(rig.rig.rig.now_ns - began_ns, kSoonNs);
}

}  // namespace
}  // namespace gdakit::softnic::test
