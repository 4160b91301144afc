// An incast: eight NICs send to one, over UDP, more than its socket's buffer holds. It must end,
// and all must have happened exactly once.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/wait_clock.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/udp_wires.h"

namespace gdakit::softnic::test {
namespace {

constexpr std::uint32_t kSenders = 8, kRounds = 20, kPiece = 40'000;
constexpr std::size_t kSource = 4096;  // in a sender's heap, behind the results of its atomics
constexpr std::size_t kBytes = std::size_t{kRounds} * kPiece;
constexpr std::size_t kCounter = kSenders * kBytes;  // in the receiver's heap
constexpr std::uint32_t kSmallBuffer = 128 << 10;

struct Incast {
  explicit Incast(bool congestion_control) : to(make_side(0, congestion_control)) {
    for (std::uint32_t i = 0; i < kSenders; ++i) {
      from.push_back(make_side(i + 1, congestion_control));
      fill(from[i]->heap.data() + kSource, kBytes, i + 1);
      add_connection(i);
    }
  }

  UdpWire& wire(Side& side) { return static_cast<UdpWire&>(*side.wire); }

  std::unique_ptr<Side> make_side(std::uint32_t number, bool congestion_control) {
    RigOptions options;
    options.engine.congestion_control = congestion_control;
    options.engine.adaptive_retransmission = options.engine.selective_repeat = true;
    const bool receives = number == 0;
    options.heap = receives ? kCounter + 4096 : kSource + kBytes;
    // Each at an address of its own. As many packets are under way as a large buffer would hold.
    const std::string address = "127.0.0." + std::to_string(number + 2) + ":0";
    return std::make_unique<Side>(
        options, std::make_unique<HostDma>(),
        wire_at(address, {.endpoint = number, .mtu = 4096, .psn_window = 128},
                receives ? kSmallBuffer : UdpSocket::kBufferBytes));
  }

  // The receiver has a queue pair for each sender.
  void add_connection(std::uint32_t i) {
    Side& sender = *from[i];
    records.push_back(std::make_unique<Pages>(sizeof(format::DoorbellRecord)));
    const QpNumber qpn = *to->engine.create_qp(to->another_qp(*records.back()));
    ASSERT_TRUE(wire(sender).connect(0, wire(*to).address()));
    ASSERT_TRUE(wire(*to).connect(i + 1, wire(sender).address()));
    connect(sender.engine, sender.qpn, 0, qpn);
    connect(to->engine, qpn, i + 1, sender.qpn);
  }
  static void connect(Engine& engine, QpNumber own, Endpoint peer, QpNumber remote) {
    QpModify modify;
    modify.path.endpoint = peer;
    modify.remote_qpn = remote;
    modify.ack_timeout = 20;  // 4 s
    modify.access = Access::all;
    for (const QpState state : {QpState::init, QpState::rtr, QpState::rts}) {
      modify.state = state;
      ASSERT_TRUE(engine.modify_qp(own, modify));
    }
  }

  void post_all() {
    const auto remote = [this](std::size_t offset) { return to->remote(offset); };
    for (std::uint32_t i = 0; i < kSenders; ++i) {
      Side& side = *from[i];
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        const std::size_t at = std::size_t{round} * kPiece;
        side.post({.opcode = format::Opcode::rdma_write,
                   .body = {remote(i * kBytes + at), side.data(kSource + at, kPiece)}});
        const auto one = format::to_segment(format::AtomicSegment{Be64{1}, Be64{0}});
        side.post({.opcode = format::Opcode::atomic_fa,
                   .body = {remote(kCounter), one, side.data(8 * round, 8)}});
      }
      side.ring();
    }
  }

  // False: it does not end.
  bool run() {
    post_all();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    while (std::chrono::steady_clock::now() < end) {
      bool all = true;
      for (const auto& side : from) {
        side->engine.step(steady_ns());
        all &= side->info().send_completed == side->producer;
      }
      to->engine.step(steady_ns());
      if (all) return true;
    }
    return false;
  }

  void expect_exactly_once() {
    std::vector<std::uint64_t> found;
    for (std::uint32_t i = 0; i < kSenders; ++i) {
      Side& side = *from[i];
      std::uint32_t completions = 0;
      for (const auto& cqe : side.send_cq.poll_all()) {
        EXPECT_EQ(opcode_of(cqe), format::CqeOpcode::requester);
        ++completions;
      }
      EXPECT_EQ(completions, 2 * kRounds);
      EXPECT_EQ(std::memcmp(to->heap.data() + i * kBytes, side.heap.data() + kSource, kBytes), 0);
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        found.push_back(side.word<std::uint64_t>(8 * round));
      }
    }
    // Each atomic has found another number.
    std::sort(found.begin(), found.end());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], i);
    EXPECT_EQ(to->word<std::uint64_t>(kCounter), kSenders * kRounds);
  }

  std::vector<std::unique_ptr<Pages>> records;
  std::unique_ptr<Side> to;
  std::vector<std::unique_ptr<Side>> from;
};

class EightToOne : public testing::TestWithParam<bool> {};

TEST_P(EightToOne, EndsAndIsDoneExactlyOnce) {
  Incast incast(GetParam());
  ASSERT_TRUE(incast.run());
  incast.expect_exactly_once();
  NicCounters sum;
  for (const auto& side : incast.from) sum += side->engine.counters();
  const std::uint64_t overrun = incast.wire(*incast.to).counters().overrun;
  EXPECT_GT(overrun, 0u) << "the buffer held all: it was no incast";
  EXPECT_EQ(sum.rp_cnp_handled != 0, GetParam());
  RecordProperty("overrun", std::to_string(overrun));
  RecordProperty("packets", std::to_string(sum.packets_sent));
  RecordProperty("cnps", std::to_string(sum.rp_cnp_handled));
}

INSTANTIATE_TEST_SUITE_P(Incast, EightToOne, testing::Bool(), [](const auto& tested) {
  return tested.param ? "WithCongestionControl" : "WithoutCongestionControl";
});

}  // namespace
}  // namespace gdakit::softnic::test
