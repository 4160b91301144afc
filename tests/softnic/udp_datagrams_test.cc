// What a wire over UDP makes of datagrams that are not as its peers send them.
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/wire/roce_packet.h"
#include "backends/softnic/wire_options.h"
#include "tests/softnic/udp_sender.h"
#include "tests/softnic/udp_wires.h"

namespace gdakit::softnic {
namespace {

using namespace std::chrono_literals;
using test::encoded;
using test::Sender;
using test::Two;

NicCounters counted_by(const Wire& wire) {
  NicCounters counters;
  wire.add_counters(counters);
  return counters;
}

TEST(UdpDatagrams, DamagedDatagramsBetweenGoodOnesAreDroppedAndCountedByReason) {
  Two two({.mtu = 1024});
  Sender sender;
  ASSERT_TRUE(two.wire->connect(1, sender.address()));
  const auto send = [&](const roce::RocePacket& packet, bool damages = false) {
    std::vector<std::uint8_t> bytes = encoded(packet, sender.address(), two.wire->address());
    if (damages) bytes.back() ^= 1;
    sender.send(two.wire->address(), bytes);
  };
  roce::RocePacket good;
  good.opcode = 0x04;
  good.psn = 1;
  send(good);
  send(good, /*damages=*/true);
  sender.send(two.wire->address(), {1, 2, 3});
  sender.send(two.wire->address(), std::vector<std::uint8_t>(60'000));
  const std::vector<std::uint8_t> payload(1025);
  roce::RocePacket long_one = good;
  long_one.payload = payload;
  send(long_one);
  roce::RocePacket of_no_use = good;
  of_no_use.opcode = 0x1c;  // FLUSH
  send(of_no_use);
  good.psn = 2;
  send(good);
  for (const std::uint32_t psn : {1u, 2u}) {
    const Packet* const packet = two.next();
    ASSERT_NE(packet, nullptr);
    EXPECT_EQ(packet->header.psn, psn);
  }
  const UdpCounters& counters = two.wire->counters();
  EXPECT_EQ(counters.damaged[static_cast<std::size_t>(roce::Damage::length)], 2u);
  EXPECT_EQ(counters.damaged[static_cast<std::size_t>(roce::Damage::icrc)], 1u);
  EXPECT_EQ(counters.too_long, 1u);
  EXPECT_EQ(counters.unfit[static_cast<std::size_t>(roce::Unfit::opcode)], 1u);
  EXPECT_EQ(counters.received, 2u);
  const NicCounters counted = counted_by(*two.wire);
  EXPECT_EQ(counted.rx_icrc_encapsulated, 1u);
  EXPECT_EQ(counted.udp_too_long, 1u);
  EXPECT_EQ(counted.udp_malformed, 3u);
}

TEST(UdpDatagrams, ForNobodyAreCounted) {
  Two two;
  Packet packet;
  packet.header.destination = 5;
  packet.header.opcode = PacketOpcode::acknowledge;
  EXPECT_TRUE(two.wire->send(packet));
  EXPECT_EQ(counted_by(*two.wire).udp_unconnected, 1u);
  EXPECT_EQ(counted_by(*two.wire).udp_unsendable, 0u);
}

// A NIC's counters are read from the outermost wire.
// Who is asked about notes what: how often, and whether by a packet of UD or DC.
struct Newcomers {
  UdpOptions options() {
    UdpOptions asking;
    asking.newcomer = [this](const UdpAddress&, bool of_anyone) {
      of_anyone ? ++by_anyone : ++by_others;
      return answer;
    };
    return asking;
  }
  std::optional<Endpoint> answer;
  int by_anyone = 0;
  int by_others = 0;
};

TEST(UdpDatagrams, FromANewcomerAreBelievedWhenTheyAreWhole) {
  Newcomers newcomers;
  Two two(newcomers.options());
  Sender sender;
  roce::RocePacket datagram;
  datagram.opcode = roce::opcode_of(roce::Transport::ud, roce::Operation::send_only);
  const UdpAddress here = two.wire->address();
  std::vector<std::uint8_t> bytes = encoded(datagram, sender.address(), here);
  bytes.back() ^= 1;
  sender.send(here, bytes);
  two.drop_until(two.wire->counters().strangers, 1);
  EXPECT_EQ(newcomers.by_anyone + newcomers.by_others, 0) << "of one that is damaged";
  bytes.back() ^= 1;
  sender.send(here, bytes);
  two.drop_until(two.wire->counters().strangers, 2);
  EXPECT_EQ(newcomers.by_anyone, 1);
  newcomers.answer = 9;
  sender.send(here, bytes);
  const Packet* const packet = two.next();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->header.source, 9u);
  EXPECT_EQ(newcomers.by_others, 0);
}

TEST(UdpDatagrams, OfDcMayComeFromAnyoneToo) {
  Newcomers newcomers;
  Two two(newcomers.options());
  Sender sender;
  roce::RocePacket connect;
  connect.opcode = roce::opcode_of(roce::Transport::dc, roce::Operation::dc_connect);
  const UdpAddress here = two.wire->address();
  sender.send(here, encoded(connect, sender.address(), here));
  two.drop_until(two.wire->counters().strangers, 1);
  EXPECT_EQ(newcomers.by_anyone, 1);
}

TEST(UdpDatagrams, OfAConnectionAreToldApartFromThoseOfUd) {
  Newcomers newcomers;
  Two two(newcomers.options());
  two.send(1);
  two.drop_until(two.wire->counters().strangers, 1);
  EXPECT_EQ(newcomers.by_others, 1);
  EXPECT_EQ(newcomers.by_anyone, 0);
}

TEST(UdpDatagrams, AreCountedByAWireThatFaultsAndACaptureAreAround) {
  Two two;
  Sender stranger;
  stranger.send(two.wire->address(), {1, 2, 3});
  two.drop_until(two.wire->counters().strangers, 1);
  Options options;
  options.nic_faults = "drop=1%";
  options.capture = testing::TempDir();
  const auto wrapped = wrap_wire(std::move(two.wire), options);
  ASSERT_TRUE(wrapped) << wrapped.error().message();
  EXPECT_EQ(counted_by(**wrapped).udp_strangers, 1u);
}

// Systems that cut trains number their datagrams.
TEST(UdpDatagrams, PacketsThatWereNumberedAsInATrainAreTaken) {
  Two two;
  Sender sender;
  ASSERT_TRUE(two.wire->connect(1, sender.address()));
  roce::UdpWay way = way_between(sender.address(), two.wire->address());
  const std::vector<std::uint8_t> payload(64, 7);
  roce::RocePacket packet;
  packet.opcode = 0x04;
  packet.payload = payload;
  for (const std::uint16_t number : {64, 5, 63, 0}) {
    way.identification = number;
    packet.psn = number;
    std::vector<std::uint8_t> bytes(roce::size_of(packet));
    roce::encode(packet, way, bytes);
    sender.send(two.wire->address(), bytes);
  }
  for (const std::uint32_t psn : {5u, 63u, 0u}) {
    const Packet* const got = two.next();
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->header.psn, psn);
  }
  const UdpCounters& counters = two.wire->counters();
  EXPECT_EQ(counters.damaged[static_cast<std::size_t>(roce::Damage::icrc)], 1u);
}

TEST(UdpDatagrams, WhatTheSocketsBufferHadNoRoomForIsCounted) {
  Two two;
  ASSERT_TRUE(two.wire->connect(7, two.other->address()));
  const UdpCounters& counters = two.wire->counters();
  std::uint32_t sent = 0;
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (counters.overrun == 0 && std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 20'000; ++i) two.send(sent++);
    while (const Packet* const packet = two.wire->receive()) two.wire->retire(packet);
    // What arrives next says how many were lost.
    two.send(sent++);
    if (const Packet* const packet = two.next()) two.wire->retire(packet);
  }
  EXPECT_GT(counters.overrun, 0u);
  EXPECT_EQ(counted_by(*two.wire).udp_overrun, counters.overrun);
  EXPECT_LE(counters.received + counters.overrun, sent);
}

// Fetches all that has come; returns how many were marked.
std::uint64_t fetch_marked(UdpWire& wire) {
  std::uint64_t marked = 0;
  while (const Packet* const packet = wire.receive()) {
    if (is_marked(packet->header)) ++marked;
    wire.retire(packet);
  }
  return marked;
}

// The buffer is the last queue on the way.
TEST(UdpDatagrams, ThatComeWhileTheSocketsBufferIsHalfFullAreMarked) {
  Two two;
  ASSERT_TRUE(two.wire->connect(7, two.other->address()));
  two.send(0, kEcnCapable);
  EXPECT_EQ(fetch_marked(*two.wire), 0u);
  std::uint64_t marked = 0;
  for (std::uint32_t count = 100; marked == 0 && two.wire->counters().overrun == 0;
       count += count / 4) {
    for (std::uint32_t i = 0; i < count; ++i) two.send(i, kEcnCapable);
    marked = fetch_marked(*two.wire);
  }
  EXPECT_GT(marked, 0u);
  EXPECT_EQ(two.wire->counters().overrun, 0u);
}

// A look at the socket takes all that a small buffer holds, where datagrams come joined.
TEST(UdpDatagrams, JoinedOnesAreMarkedToo) {
  const auto wire = test::wire_at("127.0.0.1:0", {}, 64 << 10);
  const auto other = test::wire_at("127.0.0.1:0", {.endpoint = 7});
  ASSERT_TRUE(wire->connect(7, other->address()) && other->connect(0, wire->address()));
  const std::vector<std::uint8_t> payload(1000);
  Packet packet;
  packet.header.opcode = PacketOpcode::write_only;
  packet.header.traffic_class = kEcnCapable;
  packet.header.payload_size = static_cast<std::uint32_t>(payload.size());
  packet.payload = payload.data();
  std::uint64_t marked = 0;
  for (int count = 10; marked == 0 && wire->counters().overrun == 0; count += 10) {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(other->send(packet));
    other->flush();
    marked = fetch_marked(*wire);
  }
  EXPECT_GT(marked, 0u);
  EXPECT_EQ(wire->counters().overrun, 0u);
}

TEST(UdpDatagrams, BehindALossInTheSocketsBufferAMessageComesMarkedIfItCanBe) {
  for (const std::uint8_t traffic_class : {std::uint8_t{0}, kEcnCapable}) {
    Two two;
    ASSERT_TRUE(two.wire->connect(7, two.other->address()));
    std::uint64_t marked = 0;
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (two.wire->counters().overrun == 0 && std::chrono::steady_clock::now() < end) {
      for (std::uint32_t i = 0; i < 20'000; ++i) two.send(i, traffic_class);
      static_cast<void>(fetch_marked(*two.wire));
      two.send(0, traffic_class);
      marked = fetch_marked(*two.wire);
    }
    EXPECT_GT(two.wire->counters().overrun, 0u);
    EXPECT_EQ(marked, traffic_class == 0 ? 0u : 1u);
  }
}

}  // namespace
}  // namespace gdakit::softnic
