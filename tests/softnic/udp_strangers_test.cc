// Who may send to a queue pair over UDP: its peer, from the peer's address and port. Each packet
// here is right in all else, as one test shows by sending it from there.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/softnic/udp_rig.h"
#include "tests/softnic/udp_sender.h"

namespace gdakit::softnic {
namespace {

using namespace std::chrono_literals;
using test::EngineRig;
using test::Sender;
using test::UdpRig;

constexpr std::uint64_t kBefore = 0x1111111111111111;
constexpr std::size_t kTarget = 64;  // in b's heap

// Of 8 bytes, as a's next one would be: to b's queue pair, with its PSN, key and address.
class ForgedWrite {
 public:
  explicit ForgedWrite(const UdpRig& udp) {
    const test::Side& b = udp.rig.b;
    packet.opcode = 0x0a;
    packet.destination_qpn = b.qpn;
    packet.psn = 0;
    packet.ack_request = true;
    packet.reth = {b.heap_address(kTarget), b.key, 8};
    packet.payload = payload_;
  }
  void send(Sender& from, const UdpAddress& to) const {
    from.send(to, test::encoded(packet, from.address(), to));
  }

  roce::RocePacket packet;

 private:
  std::array<std::uint8_t, 8> payload_ = {1, 2, 3, 4, 5, 6, 7, 8};
};

void step_until(UdpRig& udp, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!done() && std::chrono::steady_clock::now() < end) udp.step();
  EXPECT_TRUE(done());
}

void expect_put_works(UdpRig& udp) {
  EngineRig& rig = udp.rig;
  rig.a.word<std::uint64_t>(0) = 77;
  udp.expect_success(test::write_wqe(rig, kTarget, 0, 8));
  EXPECT_EQ(rig.b.word<std::uint64_t>(kTarget), 77u);
  EXPECT_EQ(rig.b.engine.counters().dropped_packets, 0u);
}

TEST(UdpStrangers, WriteNothing) {
  for (const std::string stranger : {"127.0.0.1:0", "127.0.0.9:0"}) {
    UdpRig udp;
    udp.rig.b.word<std::uint64_t>(kTarget) = kBefore;
    Sender sender(stranger);
    for (int i = 0; i < 3; ++i) ForgedWrite(udp).send(sender, udp.at(1).address());
    step_until(udp, [&] { return udp.at(1).counters().strangers == 3; });
    EXPECT_EQ(udp.rig.b.engine.counters().udp_strangers, 3u);
    EXPECT_EQ(udp.rig.a.engine.counters().udp_strangers, 0u);
    EXPECT_EQ(udp.rig.b.word<std::uint64_t>(kTarget), kBefore);
    EXPECT_EQ(udp.at(1).counters().received, 0u);
    expect_put_works(udp);
  }
}

TEST(UdpStrangers, AcknowledgeNothingAndRefuseNothing) {
  UdpRig udp;
  EngineRig& rig = udp.rig;
  Sender sender;
  rig.a.word<std::uint64_t>(0) = 77;
  rig.a.post(test::write_wqe(rig, kTarget, 0, 8));
  rig.a.ring();
  rig.a.engine.step(++rig.now_ns);
  roce::RocePacket answer;
  answer.opcode = 0x11;
  answer.destination_qpn = rig.a.qpn;
  for (const std::uint8_t syndrome : {0x1f, 0x62}) {  // an ACK; a NAK of remote access
    answer.aeth = {syndrome, 1};
    sender.send(udp.at(0).address(), test::encoded(answer, sender.address(), udp.at(0).address()));
  }
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (udp.at(0).counters().strangers < 2 && std::chrono::steady_clock::now() < end) {
    rig.a.engine.step(++rig.now_ns);
  }
  EXPECT_EQ(udp.at(0).counters().strangers, 2u);
  EXPECT_FALSE(rig.a.send_cq.poll());
  const auto cqe = udp.next_cqe();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(test::opcode_of(*cqe), format::CqeOpcode::requester);
  EXPECT_EQ(rig.b.word<std::uint64_t>(kTarget), 77u);
}

TEST(UdpStrangers, GarbageOfAllSizesIsCountedAndChangesNothing) {
  UdpRig udp;
  udp.rig.b.word<std::uint64_t>(kTarget) = kBefore;
  Sender sender;
  std::uint32_t state = 1;
  const std::array<std::size_t, 8> sizes = {0, 1, 11, 12, 16, 4096, 4192, 65'507};
  for (const std::size_t size : sizes) {
    std::vector<std::uint8_t> bytes(size);
    for (std::uint8_t& byte : bytes) {
      state = state * 1664525 + 1013904223;
      byte = static_cast<std::uint8_t>(state >> 24);
    }
    sender.send(udp.at(1).address(), bytes);
  }
  step_until(udp, [&] { return udp.at(1).counters().strangers == sizes.size(); });
  EXPECT_EQ(udp.rig.b.word<std::uint64_t>(kTarget), kBefore);
  expect_put_works(udp);
}

// A NIC of the job, which is not this queue pair's peer.
TEST(UdpStrangers, AnotherNicOfTheJobWritesNothingByAQueuePairThatIsNotConnectedToIt) {
  UdpRig udp;
  udp.rig.b.word<std::uint64_t>(kTarget) = kBefore;
  Sender sender;
  ASSERT_TRUE(udp.at(1).connect(7, sender.address()));
  ForgedWrite(udp).send(sender, udp.at(1).address());
  step_until(udp, [&] { return udp.rig.b.engine.counters().dropped_packets == 1; });
  EXPECT_EQ(udp.at(1).counters().received, 1u);
  EXPECT_EQ(udp.rig.b.word<std::uint64_t>(kTarget), kBefore);
}

// The peer itself is moved to where the packets come from.
TEST(UdpStrangers, ThePeerWritesByALiveQueuePairAlone) {
  UdpRig udp;
  udp.rig.b.word<std::uint64_t>(kTarget) = kBefore;
  Sender sender;
  ASSERT_TRUE(udp.at(1).connect(0, sender.address()));
  ForgedWrite write(udp);
  for (const std::uint32_t other : {0u, 1u, write.packet.destination_qpn + 1, 0xffffffu}) {
    ForgedWrite wrong(udp);
    wrong.packet.destination_qpn = other;
    wrong.send(sender, udp.at(1).address());
  }
  step_until(udp, [&] { return udp.rig.b.engine.counters().dropped_packets == 4; });
  EXPECT_EQ(udp.rig.b.word<std::uint64_t>(kTarget), kBefore);
  write.send(sender, udp.at(1).address());
  step_until(udp, [&] { return udp.rig.b.word<std::uint64_t>(kTarget) != kBefore; });
  EXPECT_EQ(udp.rig.b.word<std::uint64_t>(kTarget), 0x0807060504030201u);
}

}  // namespace
}  // namespace gdakit::softnic
