// Congestion control between two engines: marks, CNPs, and what becomes of the rate.
#include <cstring>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "backends/softnic/wire/faulty_wire.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

constexpr std::uint32_t kLong = 400'000;
constexpr std::uint64_t kMs = 1'000'000;

// Marks as long as it is told to.
class MarkingFates final : public Fates {
 public:
  explicit MarkingFates(const int& side, int own) : side_(side), own_(own) {}
  Fate fate(const Packet&) override { return {.marks = side_ == own_}; }

 private:
  const int& side_;
  const int own_;
};

// Engines whose payload travels by value. What the side `marked` sends comes marked, if it can be.
struct Marked {
  explicit Marked(bool congestion_control = true, std::uint8_t traffic_class = 0,
                  std::uint8_t ack_timeout = 20)
      : rig(options(congestion_control, traffic_class, ack_timeout)) {
    fill(rig.a.heap.data(), kLong, 3);
    fill(rig.b.heap.data() + kLong, kLong, 4);
  }
  RigOptions options(bool congestion_control, std::uint8_t traffic_class,
                     std::uint8_t ack_timeout) {
    RigOptions made;
    made.engine.congestion_control = congestion_control;
    made.engine.packets_per_step = 1;  // a CNP may be sent between any two packets
    made.wire.mtu = 4096;
    made.settings.ack_timeout = ack_timeout;
    made.settings.path.traffic_class = traffic_class;
    made.wrap_wire = [this](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
      auto faulty = std::make_unique<FaultyWire>(std::move(wire),
                                                 std::make_unique<MarkingFates>(marked, side));
      faults[side] = &faulty->counters();
      Losses losses{.by_value = true};
      losses.drop = [this, side](const Packet&) { return side == 0 && lost != 0 && lost-- != 0; };
      return std::make_unique<LossyWire>(std::move(faulty), losses);
    };
    return made;
  }

  // Performs one WQE; returns how long it took, in ns.
  std::uint64_t perform(const Wqe& wqe) {
    const std::uint64_t begin = rig.now_ns;
    rig.a.post(wqe);
    rig.a.ring();
    finish();
    return rig.now_ns - begin;
  }
  void finish() { finish(rig.a); }
  void finish(Side& side) {
    const auto is_done = [&side] { return side.info().send_completed == side.producer; };
    for (int steps = 0; !is_done() && steps < 5'000'000; ++steps) {
      if (!rig.step()) rig.now_ns += 400;
    }
    EXPECT_TRUE(is_done());
    for (const auto& cqe : side.send_cq.poll_all()) {
      EXPECT_EQ(opcode_of(cqe), format::CqeOpcode::requester);
    }
  }
  // Afterwards a packet of a of 4096 bytes is followed by a pause of 30 us and more.
  void slow_a_down() {
    marked = 0;
    for (int i = 0; i < 10; ++i) write();
    EXPECT_GT(perform(write_wqe(rig, 0, 0, 12'288)), 30'000u);
  }
  std::uint64_t write() { return perform(write_wqe(rig, 0, 0, kLong)); }
  std::uint64_t read() { return perform(read_wqe(rig, kLong, kLong, kLong)); }
  bool is_written() const { return std::memcmp(rig.a.heap.data(), rig.b.heap.data(), kLong) == 0; }
  bool is_read() const {
    return std::memcmp(rig.a.heap.data() + kLong, rig.b.heap.data() + kLong, kLong) == 0;
  }

  int marked = -1;
  int lost = 0;  // so many of the next packets of a
  const FaultCounters* faults[2] = {};
  EngineRig rig;
};

TEST(CongestionControl, AMarkedPacketMakesOneCnp) {
  Marked test;
  test.marked = 0;
  test.perform(write_wqe(test.rig, 0, 0, 8));
  ASSERT_TRUE(test.rig.run());
  const NicCounters receiver = test.rig.b.engine.counters();
  EXPECT_EQ(receiver.np_ecn_marked_roce_packets, 1u);
  EXPECT_EQ(receiver.np_cnp_sent, 1u);
  EXPECT_EQ(test.rig.a.engine.counters().rp_cnp_handled, 1u);
}

TEST(CongestionControl, WithoutMarksThereIsNoCnp) {
  Marked test;
  test.write();
  test.read();
  for (const Side* side : {&test.rig.a, &test.rig.b}) {
    EXPECT_EQ(side->engine.counters().np_cnp_sent, 0u);
    EXPECT_EQ(side->engine.counters().rp_cnp_handled, 0u);
  }
}

TEST(CongestionControl, ManyMarksMakeNoMoreThanOneCnpInAnInterval) {
  Marked test;
  test.marked = 0;
  const auto counters = [&test] { return test.rig.b.engine.counters(); };
  for (std::uint64_t bursts = 1; bursts <= 3; ++bursts) {
    const NicCounters before = counters();
    const std::uint64_t begin = test.rig.now_ns;
    test.rig.a.post(write_wqe(test.rig, 0, 0, kLong));
    test.rig.a.ring();
    while (test.rig.now_ns < begin + kCnpIntervalNs / 2) test.rig.step();
    EXPECT_GE(counters().np_ecn_marked_roce_packets, before.np_ecn_marked_roce_packets + 10);
    EXPECT_EQ(counters().np_cnp_sent, before.np_cnp_sent + 1);
    test.finish();
    test.rig.now_ns += 1000 * kMs;  // the rate is what it was
    ASSERT_TRUE(test.rig.run());    // and nobody is to be told of anything
  }
}

// A burst that is over before the next CNP may go.
TEST(CongestionControl, MarksSoonAfterACnpAreToldOfWhenItsIntervalIsOver) {
  Marked test;
  test.marked = 0;
  for (int i = 0; i < 2; ++i) test.perform(write_wqe(test.rig, 0, 0, 8));
  const auto cnps = [&test] { return test.rig.b.engine.counters().np_cnp_sent; };
  EXPECT_EQ(cnps(), 1u);
  test.rig.now_ns += kCnpIntervalNs;
  ASSERT_TRUE(test.rig.run());
  EXPECT_EQ(cnps(), 2u);
}

TEST(CongestionControl, RequestsAndReadResponsesTakeTurns) {
  Marked test;
  test.slow_a_down();
  EngineRig& rig = test.rig;
  rig.b.post({.opcode = format::Opcode::rdma_read,
              .body = {rig.a.remote(kLong), rig.b.data(kLong, kLong)}});
  rig.b.ring();
  for (int i = 0; i < 100; ++i) rig.step();
  test.perform(write_wqe(rig, 0, 0, 40'000));
  EXPECT_EQ(std::memcmp(rig.a.heap.data(), rig.b.heap.data(), 40'000), 0);
  EXPECT_NE(rig.b.info().send_completed, rig.b.producer);
  test.finish(rig.b);
  EXPECT_TRUE(test.is_read());
}

// The time-out, of 8 us, is over several times before the packet may go again.
TEST(CongestionControl, NoRetryIsCountedWhileTheRateHoldsPacketsBack) {
  Marked test(true, 0, 1);
  test.slow_a_down();
  test.lost = 1;
  test.perform(write_wqe(test.rig, 0, 0, 4096));
  EXPECT_EQ(test.lost, 0);
  EXPECT_EQ(test.rig.a.engine.counters().local_ack_timeout_err, 1u);
  EXPECT_EQ(test.rig.b.engine.counters().duplicate_request, 0u);
}

TEST(CongestionControl, ATimerGoesOnWithWhatIsHeldBack) {
  Marked test;
  test.marked = 0;
  for (int i = 0; i < 5; ++i) test.write();
  test.rig.a.post(write_wqe(test.rig, 0, 0, kLong));
  test.rig.a.ring();
  for (int i = 0; i < 100; ++i) test.rig.step();
  const auto timer_ns = test.rig.a.engine.next_timer_ns();
  ASSERT_TRUE(timer_ns);
  EXPECT_LE(*timer_ns, test.rig.now_ns + RateLimit::kLongestPauseNs);
  EXPECT_FALSE(test.rig.a.engine.waiting());
}

TEST(CongestionControl, TheRateFallsOnCnpsAndComesBack) {
  Marked test;
  const std::uint64_t plain_ns = test.write();
  test.marked = 0;
  for (int i = 0; i < 5; ++i) test.write();
  test.marked = -1;
  // A tenth of the line's rate and less.
  const std::uint64_t limited_ns = test.write();
  EXPECT_GT(limited_ns, 10 * std::uint64_t{kLong} * 1'000'000'000 / RateLimit::kLineRate);
  test.rig.now_ns += 1000 * kMs;
  EXPECT_LT(test.write(), 2 * plain_ns);
  EXPECT_LT(plain_ns, limited_ns / 4);
  EXPECT_TRUE(test.is_written());
  EXPECT_EQ(test.rig.a.engine.counters().retries, 0u);
}

TEST(CongestionControl, ReadResponsesAreHeldBackAtTheResponder) {
  Marked test;
  const std::uint64_t plain_ns = test.read();
  EXPECT_TRUE(test.is_read());
  std::memset(test.rig.a.heap.data() + kLong, 0, kLong);
  test.marked = 1;
  for (int i = 0; i < 5; ++i) test.read();
  EXPECT_GT(test.rig.a.engine.counters().np_cnp_sent, 2u);
  EXPECT_EQ(test.rig.a.engine.counters().np_cnp_sent, test.rig.b.engine.counters().rp_cnp_handled);
  test.marked = -1;
  EXPECT_GT(test.read(), 4 * plain_ns);
  EXPECT_TRUE(test.is_read());
  EXPECT_EQ(test.rig.a.engine.counters().retries, 0u);
}

TEST(CongestionControl, AnswersAndCnpsAreNotMarked) {
  Marked test;
  test.marked = 1;
  test.write();
  test.perform(fetch_add_wqe(test.rig, 0, 0, 1));
  EXPECT_EQ(test.faults[1]->marked, 0u);
  EXPECT_EQ(test.rig.a.engine.counters().np_ecn_marked_roce_packets, 0u);
}

TEST(CongestionControl, AnswersAreNotMarkedEvenIfThePathsClassSaysThatTheyCanBe) {
  Marked test(true, kEcnCapable);
  test.marked = 1;
  test.write();
  EXPECT_EQ(test.faults[1]->marked, 0u);
}

TEST(CongestionControl, SwitchedOffNobodyIsMarkedAndNothingIsSlower) {
  Marked test(false);
  test.marked = 0;
  const std::uint64_t first_ns = test.write();
  for (int i = 0; i < 5; ++i) test.write();
  EXPECT_LT(test.write(), 2 * first_ns);
  EXPECT_EQ(test.faults[0]->marked, 0u);
  EXPECT_EQ(test.rig.b.engine.counters().np_cnp_sent, 0u);
}

// Where an application says by the class of its path that its packets can be marked.
TEST(CongestionControl, SwitchedOffMarksMakeNoCnps) {
  Marked test(false, kEcnCapable);
  test.marked = 0;
  test.write();
  EXPECT_GT(test.faults[0]->marked, 0u);
  EXPECT_EQ(test.rig.b.engine.counters().np_cnp_sent, 0u);
  EXPECT_EQ(test.rig.b.engine.counters().np_ecn_marked_roce_packets, 0u);
}

TEST(CongestionControl, ACnpMeansNothingToAQueuePairWithout) {
  EngineRig rig;
  Packet cnp;
  cnp.header.opcode = PacketOpcode::congestion_notification;
  cnp.header.destination = rig.a.wire->endpoint();
  cnp.header.destination_qpn = rig.a.qpn;
  cnp.header.payload_size = sizeof kCnpPayload;
  cnp.payload = kCnpPayload;
  ASSERT_TRUE(rig.b.wire->send(cnp));
  rig.b.wire->flush();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.engine.counters().packets_received, 1u);
  EXPECT_EQ(rig.a.engine.counters().rp_cnp_handled, 0u);
  EXPECT_EQ(rig.a.info().state, QpState::rts);
}

TEST(CongestionControl, ACnpForNoQueuePairIsDropped) {
  EngineRig rig;
  Packet cnp;
  cnp.header.opcode = PacketOpcode::congestion_notification;
  cnp.header.destination = rig.a.wire->endpoint();
  cnp.header.destination_qpn = rig.a.qpn + 1;
  ASSERT_TRUE(rig.b.wire->send(cnp));
  rig.b.wire->flush();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.engine.counters().dropped_packets, 1u);
}

}  // namespace
}  // namespace gdakit::softnic::test
