// What of a message may be on the wire at a time, when a requester asks for acknowledges, and what
// those say of messages.
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/dma/host_dma.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

constexpr std::uint32_t kMtu = 256;

RigOptions of_mtu(std::uint32_t mtu) {
  RigOptions options;
  options.wire.mtu = mtu;
  return options;
}

// Wires with a window of `psns`, which keep what is sent; `drop` may lose some of it. While all
// packets are small the window is of `small_psns`, if given.
struct Windowed {
  explicit Windowed(std::uint32_t psns, RigOptions options = of_mtu(kMtu),
                    std::optional<std::uint32_t> small_psns = {})
      : small(small_psns), rig(with_window(psns, std::move(options))) {}

  RigOptions with_window(std::uint32_t psns, RigOptions options) {
    options.wrap_wire = [this, psns](std::unique_ptr<Wire> wire,
                                     int side) -> std::unique_ptr<Wire> {
      Losses losses;
      losses.psn_window = psns;
      losses.small_psn_window = small;
      losses.full = [this, side] { return side == 0 && room == 0; };
      losses.drop = [this, side](const Packet& packet) {
        sent[side].push_back(packet.header);
        if (side == 0 && room > 0) --room;
        return drop && drop(packet);
      };
      return std::make_unique<LossyWire>(std::move(wire), losses);
    };
    return options;
  }
  std::uint32_t on_the_wire() const {
    const QpInfo info = rig.a.info();
    return psn_add(info.next_send_psn, kPsnMask - info.last_acked_psn);
  }
  // The peer stands still.
  void run_a_alone() {
    for (int i = 0; i < 100; ++i) rig.a.engine.step(++rig.now_ns);
  }
  void write(std::uint32_t size) {
    rig.a.post(write_wqe(rig, 0, 0, size));
    rig.a.ring();
  }

  std::optional<std::uint32_t> small;
  std::vector<PacketHeader> sent[2];
  std::function<bool(const Packet&)> drop;
  int room = -1;  // packets that a's wire takes; negative: any number
  EngineRig rig;
};

TEST(PsnWindow, HoldsWithinAMessage) {
  for (const std::uint32_t window : {2u, 3u, 8u, 64u}) {
    Windowed test(window);
    fill(test.rig.a.heap.data(), 40'000, 7);
    test.write(40'000);
    test.run_a_alone();
    EXPECT_EQ(test.on_the_wire(), window);
    EXPECT_EQ(test.sent[0].size(), window);
    // It goes on, and no time-out is needed.
    ASSERT_TRUE(test.rig.run());
    EXPECT_EQ(test.rig.a.send_cq.poll_all().size(), 1u) << "window " << window;
    EXPECT_EQ(test.rig.a.engine.counters().retries, 0u);
    EXPECT_EQ(std::memcmp(test.rig.b.heap.data(), test.rig.a.heap.data(), 40'000), 0);
  }
}

TEST(PsnWindow, IsOneForAllOfAQueue) {
  Windowed test(8);
  for (int i = 0; i < 20; ++i) test.rig.a.post(write_wqe(test.rig, 0, 0, 300));
  test.rig.a.ring();
  test.run_a_alone();
  EXPECT_EQ(test.on_the_wire(), 8u);
  ASSERT_TRUE(test.rig.run());
  EXPECT_EQ(test.rig.a.send_cq.poll_all().size(), 20u);
}

TEST(PsnWindow, SmallPacketsHaveOneOfTheirOwn) {
  Windowed test(8, of_mtu(kMtu), 32);
  for (int i = 0; i < 40; ++i) test.rig.a.post(write_wqe(test.rig, 0, 0, kSmallPayload));
  test.rig.a.ring();
  test.run_a_alone();
  EXPECT_EQ(test.on_the_wire(), 32u);
  ASSERT_TRUE(test.rig.run());
  EXPECT_EQ(test.rig.a.send_cq.poll_all().size(), 40u);
}

TEST(PsnWindow, ALargePacketUnderWayHoldsSmallOnesToTheWindowOfAll) {
  Windowed test(8, of_mtu(kMtu), 32);
  test.rig.a.post(write_wqe(test.rig, 0, 0, 8));
  test.rig.a.post(write_wqe(test.rig, 0, 0, kSmallPayload + 1));
  for (int i = 0; i < 40; ++i) test.rig.a.post(write_wqe(test.rig, 0, 0, 8));
  test.rig.a.ring();
  test.run_a_alone();
  EXPECT_EQ(test.on_the_wire(), 8u);
  ASSERT_TRUE(test.rig.run());
  EXPECT_EQ(test.rig.a.send_cq.poll_all().size(), 42u);
}

TEST(PsnWindow, ALargePacketWaitsUntilSmallOnesLeaveRoom) {
  Windowed test(8, of_mtu(kMtu), 32);
  for (int i = 0; i < 20; ++i) test.rig.a.post(write_wqe(test.rig, 0, 0, 8));
  test.rig.a.post(write_wqe(test.rig, 0, 0, 100));
  test.rig.a.ring();
  test.run_a_alone();
  EXPECT_EQ(test.on_the_wire(), 20u);
  ASSERT_TRUE(test.rig.run());
  EXPECT_EQ(test.rig.a.send_cq.poll_all().size(), 21u);
}

// After it the queue's small packets have their window again, however many PSNs later.
TEST(PsnWindow, IsThatOfSmallPacketsAgainOnceALargeOneIsAcknowledged) {
  Windowed test(8, of_mtu(kMtu), 32);
  test.write(1000);
  ASSERT_TRUE(test.rig.run());
  for (int i = 0; i < 40; ++i) test.rig.a.post(write_wqe(test.rig, 0, 0, 8));
  test.rig.a.ring();
  test.run_a_alone();
  EXPECT_EQ(test.on_the_wire(), 32u);
  ASSERT_TRUE(test.rig.run());
}

// The requests among these: the first PSN of each, and how many it asks for.
std::vector<std::pair<std::uint32_t, std::uint32_t>> reads_in(
    const std::vector<PacketHeader>& packets) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> reads;
  for (const PacketHeader& header : packets) {
    if (header.opcode != PacketOpcode::read_request) continue;
    reads.emplace_back(header.psn, (header.reth.length + kMtu - 1) / kMtu);
  }
  return reads;
}

// Else the peer would send all responses at once, into a network that has no room for them.
TEST(PsnWindow, AReadAsksForAWindowOfResponsesAtATime) {
  Windowed test(8);
  fill(test.rig.b.heap.data(), 5'000, 7);
  test.rig.a.post(read_wqe(test.rig, 64, 0, 5'000));
  test.rig.a.post(write_wqe(test.rig, 20'000, 64, 5'000));
  test.rig.a.ring();
  test.run_a_alone();
  EXPECT_EQ(test.on_the_wire(), 8u);
  ASSERT_TRUE(test.rig.run());
  EXPECT_EQ(test.rig.a.send_cq.poll_all().size(), 2u);
  EXPECT_EQ(test.rig.a.engine.counters().retries, 0u);
  EXPECT_EQ(reads_in(test.sent[0]),
            (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 8}, {8, 8}, {16, 4}}));
  EXPECT_EQ(std::memcmp(test.rig.b.heap.data() + 20'000, test.rig.b.heap.data(), 5'000), 0);
}

// A response of the second window is lost: the rest of the READ is asked for from there on.
TEST(PsnWindow, AReadThatHasLostAResponseAsksForTheRestOfItsWindows) {
  Windowed test(8);
  bool lost = false;
  test.drop = [&lost](const Packet& packet) {
    return is_read_response(packet.header.opcode) && packet.header.psn == 10 &&
           !std::exchange(lost, true);
  };
  fill(test.rig.b.heap.data(), 5'000, 7);
  test.rig.a.post(read_wqe(test.rig, 64, 0, 5'000));
  test.rig.a.ring();
  ASSERT_TRUE(test.rig.run_until([&] { return test.rig.a.info().send_completed == 1; }));
  EXPECT_EQ(reads_in(test.sent[0]), (std::vector<std::pair<std::uint32_t, std::uint32_t>>{
                                        {0, 8}, {8, 8}, {10, 6}, {16, 4}}));
  EXPECT_EQ(std::memcmp(test.rig.a.heap.data() + 64, test.rig.b.heap.data(), 5'000), 0);
}

// The key goes when some windows have come, and the peer refuses the next.
TEST(PsnWindow, AReadThatIsRefusedInALaterWindowFails) {
  Windowed test(8);
  test.drop = [&test](const Packet& packet) {
    const bool is_second =
        packet.header.opcode == PacketOpcode::read_request && packet.header.psn == 8;
    if (is_second) static_cast<void>(test.rig.b.engine.dereg_mr(test.rig.b.key));
    return false;
  };
  test.rig.a.post(read_wqe(test.rig, 64, 0, 5'000));
  test.rig.a.ring();
  std::optional<format::Cqe64> cqe;
  ASSERT_TRUE(test.rig.run_until([&] { return (cqe = test.rig.a.send_cq.poll()).has_value(); }));
  EXPECT_EQ(syndrome_of(*cqe), format::Syndrome::remote_access);
}

// The last packet by reference may be longer.
TEST(PsnWindow, MayBeOversteppedByOnePacket) {
  RigOptions options = of_mtu(16 * kMtu);
  options.settings.path.mtu = kMtu;
  Windowed test(8, options);
  test.write(40'000);
  test.run_a_alone();
  EXPECT_EQ(test.on_the_wire(), 16u);
  ASSERT_TRUE(test.rig.run());
  EXPECT_EQ(test.rig.a.send_cq.poll_all().size(), 1u);
}

TEST(PsnWindow, HoldsForWhatIsSentAgain) {
  Windowed test(8);
  int sent = 0;
  test.drop = [&sent](const Packet& packet) {
    return packet.header.opcode == PacketOpcode::write_middle && ++sent % 10 == 5;
  };
  test.write(40'000);
  while (test.rig.step()) ASSERT_LE(test.on_the_wire(), 8u);
  ASSERT_TRUE(test.rig.run_until([&] { return test.rig.a.info().send_completed == 1; }));
  EXPECT_EQ(std::memcmp(test.rig.b.heap.data(), test.rig.a.heap.data(), 40'000), 0);
}

TEST(AckRequest, IsMadeByTheLastPacketOfEachMessageAndNowAndThenWithinOne) {
  Windowed test(kMaxPsnWindow);
  test.write(200 * kMtu);
  ASSERT_TRUE(test.rig.run());
  test.write(8);
  ASSERT_TRUE(test.rig.run());
  std::uint32_t asked = 0, since = 0;
  for (const PacketHeader& header : test.sent[0]) {
    ++since;
    EXPECT_TRUE(header.ack_request || since < 64);
    if (!header.ack_request) continue;
    ++asked;
    since = 0;
  }
  EXPECT_EQ(since, 0u) << "the last one asks";
  EXPECT_EQ(asked, 5u) << "at PSN 63, 127 and 191, and at the end of each message";
  EXPECT_LE(test.sent[1].size(), asked);
}

TEST(AckRequest, AloneMakesTheResponderAcknowledge) {
  for (const bool asks : {false, true}) {
    EngineRig rig;
    Packet packet;
    packet.header.opcode = PacketOpcode::write_only;
    packet.header.destination = rig.b.wire->endpoint();
    packet.header.destination_qpn = rig.b.qpn;
    packet.header.ack_request = asks;
    ASSERT_TRUE(rig.a.wire->send(packet));
    rig.a.wire->flush();
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.b.engine.counters().packets_received, 1u);
    EXPECT_EQ(rig.b.engine.counters().packets_sent, asks ? 1u : 0u);
  }
}

// A sender that is slow within a message is not taken for one whose packets are lost: the timer
// waits for what the peer was asked for.
TEST(AckRequest, AloneStartsTheTimer) {
  // Where the wire takes nothing for longer than the time-out, that alone is a retry.
  for (const std::uint64_t pause_ns : {60'000u, 100'000u}) {
    RigOptions options = of_mtu(kMtu);
    options.settings.ack_timeout = 5;  // 131 us
    options.settings.retry_count = 2;
    Windowed test(kMaxPsnWindow, options);
    test.write(60 * kMtu);
    while (test.rig.a.info().send_completed == 0) {
      ASSERT_LT(test.rig.now_ns, 20'000'000u);
      for (const int room : {0, 0, 1}) {
        test.room = room;
        test.rig.now_ns += room == 0 ? pause_ns : 0;
        test.rig.a.engine.step(test.rig.now_ns);
        test.rig.b.engine.step(test.rig.now_ns);
      }
    }
    EXPECT_EQ(test.rig.a.info().state, QpState::rts);
    EXPECT_LE(test.sent[0].size(), 62u) << "nothing is sent again";
    const bool timed_out = test.rig.a.engine.counters().retries != 0;
    EXPECT_EQ(timed_out, 2 * pause_ns > 131'000);
  }
}

// Reads that are done when the next step begins.
class LateReads final : public HostDma {
 public:
  DmaOp read(void* to, DmaAddress from, std::size_t size) override {
    HostDma::read(to, from, size);
    return {issued_};
  }
  DmaOp fence() override { return {issued_}; }
  bool done(DmaOp op) override { return op.id < issued_; }
  void poll() override { ++issued_; }

 private:
  std::uint64_t issued_ = 1;  // by steps
};

// Two streams of payload by value, which keep both outboxes full for long.
TEST(Acknowledge, DoesNotWaitForTheStreamOfItsOwnSide) {
  RigOptions options = of_mtu(kMtu);
  options.make_port = [](int) { return std::make_unique<LateReads>(); };
  options.wrap_wire = [](std::unique_ptr<Wire> wire, int) -> std::unique_ptr<Wire> {
    return std::make_unique<LossyWire>(std::move(wire), Losses{.by_value = true});
  };
  EngineRig rig(options);
  for (Side* side : {&rig.a, &rig.b}) {
    const Side& peer = side == &rig.a ? rig.b : rig.a;
    for (int i = 0; i < 32; ++i) {
      side->post({.opcode = format::Opcode::rdma_write,
                  .body = {peer.remote(0), side->data(0, 8 * kMtu)}});
    }
    side->ring();
  }
  const auto sends_all = [](const Side& side) {
    return side.info().next_send_psn == psn_add(side.options.send_psn, 32 * 8);
  };
  while (rig.a.info().send_completed < 4) {
    ASSERT_FALSE(sends_all(rig.a)) << "acknowledged only at the end of the stream";
    rig.step();
  }
}

TEST(Msn, CountsMessagesOfAllKindsOnceEach) {
  RigOptions options = of_mtu(kMtu);
  options.settings.ack_timeout = 5;
  Windowed test(kMaxPsnWindow, options);
  EngineRig& rig = test.rig;
  int answers = 0;
  // Each answer is lost once.
  test.drop = [&](const Packet& packet) {
    return is_response(packet.header.opcode) && ++answers % 2 == 1;
  };
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 2000)});
  rig.a.post(write_wqe(rig, 0, 0, 1000));
  rig.a.post({.opcode = format::Opcode::send, .body = {rig.a.data(0, 2000)}});
  rig.a.post(read_wqe(rig, 4096, 0, 1000));
  rig.a.post(fetch_add_wqe(rig, 8192, 8200, 1));
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == rig.a.producer; }));
  EXPECT_GT(rig.a.engine.counters().retries, 0u);
  EXPECT_EQ(rig.b.info().rmsn, 5u);
  std::uint32_t msn = 0;
  for (const PacketHeader& header : test.sent[1]) {
    ASSERT_EQ(extension_of(header.opcode), ExtensionKind::aeth);
    EXPECT_GE(header.aeth.msn, msn);
    msn = header.aeth.msn;
  }
  EXPECT_EQ(msn, 5u);
}

}  // namespace
}  // namespace gdakit::softnic::test
