// Two engines over UDP on this host's loopback interface.
#include "backends/softnic/wire/udp_wire.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/wire/nic_place.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/udp_rig.h"
#include "tests/softnic/udp_wires.h"

namespace gdakit::softnic {
namespace {

using namespace std::chrono_literals;
using format::Opcode;
using test::EngineRig;
using test::Two;
using test::UdpRig;
using test::UdpRigOptions;
using test::wire_at;
using test::Wqe;

constexpr std::uint32_t kLong = 100'003;
constexpr std::size_t kFar = 300'000;

void fill(test::Side& side, std::size_t at, std::size_t size) {
  std::iota(side.heap.data() + at, side.heap.data() + at + size, std::uint8_t{1});
}
bool same(const test::Side& x, std::size_t at_x, const test::Side& y, std::size_t at_y,
          std::size_t size) {
  return std::memcmp(x.heap.data() + at_x, y.heap.data() + at_y, size) == 0;
}

void expect_traffic(UdpRig& udp) {
  EngineRig& rig = udp.rig;
  fill(rig.a, 0, kLong);
  udp.expect_success(test::write_wqe(rig, 64, 0, 8));
  EXPECT_TRUE(same(rig.b, 64, rig.a, 0, 8));
  udp.expect_success(test::write_wqe(rig, 128, 0, kLong));
  EXPECT_TRUE(same(rig.b, 128, rig.a, 0, kLong));
  udp.expect_success(test::read_wqe(rig, kFar, 128, kLong));
  EXPECT_TRUE(same(rig.a, kFar, rig.a, 0, kLong));
  rig.b.post_receive({format::data(rig.b.heap_address(kFar), Be32{rig.b.key}, 5000)});
  udp.expect_success({.opcode = Opcode::send_imm, .imm = 7, .body = {rig.a.data(0, 5000)}});
  EXPECT_TRUE(same(rig.b, kFar, rig.a, 0, 5000));
  const auto received = rig.b.receive_cq.poll();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->imm_inval_pkey, 7u);
  rig.b.word<std::uint64_t>(8) = 40;
  udp.expect_success(test::fetch_add_wqe(rig, 800'000, 8, 2));
  EXPECT_EQ(rig.b.word<std::uint64_t>(8), 42u);
  EXPECT_EQ(rig.a.word<std::uint64_t>(800'000), 40u);
}

TEST(UdpWire, CarriesEveryOperation) {
  UdpRig udp;
  expect_traffic(udp);
  for (const test::Side* const side : {&udp.rig.a, &udp.rig.b}) {
    const NicCounters& counters = side->engine.counters();
    EXPECT_GT(counters.packets_sent, 0u);
    EXPECT_EQ(counters.udp_packets_sent, counters.packets_sent);
  }
  for (const int side : {0, 1}) {
    const UdpCounters& counters = udp.at(side).counters();
    EXPECT_EQ(counters.strangers + counters.too_long + counters.unsendable, 0u);
    EXPECT_EQ(counters.damaged, decltype(counters.damaged){});
    EXPECT_EQ(counters.unfit, decltype(counters.unfit){});
  }
}

TEST(UdpWire, CarriesEveryOperationInShortPackets) {
  UdpRig udp({.mtu = 256});
  EXPECT_EQ(udp.at(0).mtu(), 256u);
  expect_traffic(udp);
}

// The first train is lost, and what it carried is sent again.
TEST(UdpWire, CarriesEveryOperationWhereTheSystemRefusesTrains) {
  UdpRig udp({.refuses_trains = true});
  EXPECT_TRUE(udp.at(0).sends_trains());
  expect_traffic(udp);
  EXPECT_FALSE(udp.at(0).sends_trains());
  EXPECT_GT(udp.at(0).counters().unsendable, 0u);
  EXPECT_EQ(udp.rig.a.engine.counters().udp_unsendable, udp.at(0).counters().unsendable);
  EXPECT_TRUE(udp.at(1).sends_trains());
}

// The port of one wire, at another address, is another wire's: a free one at both is looked for.
TEST(UdpWire, TwoAddressesWithOnePortAreTwoNics) {
  for (int tries = 0; tries < 20; ++tries) {
    const std::unique_ptr<UdpWire> a = wire_at("127.0.0.2:0", {.endpoint = 0});
    const UdpAddress there{UdpAddress::parse("127.0.0.3")->ip, a->address().port};
    Result<UdpSocket> socket = UdpSocket::open(there);
    if (!socket) continue;
    const std::unique_ptr<UdpWire> b =
        std::move(*UdpWire::create(std::move(*socket), {.endpoint = 1}));
    EXPECT_TRUE(a->connect(1, b->address()));
    EXPECT_TRUE(b->connect(0, a->address()));
    return;
  }
  FAIL() << "no port is free at both addresses";
}

TEST(UdpWire, WhatGetsLostOrComesTwiceOrLateIsRepaired) {
  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    UdpRig udp(
        {.mtu = 1024,
         .losses = {.seed = seed, .drop_percent = 5, .repeat_percent = 5, .delay_percent = 5}});
    expect_traffic(udp);
  }
}

// The peer's thread runs, and this NIC's does not.
TEST(UdpWire, AReadAsksForNoMoreThanTheBufferHolds) {
  constexpr std::uint32_t kSize = 122 * 4096;
  UdpRig udp({.buffer = 200'000});
  EngineRig& rig = udp.rig;
  fill(rig.b, 0, kSize);
  rig.a.post(test::read_wqe(rig, 0, 0, kSize));
  rig.a.ring();
  std::optional<format::Cqe64> cqe;
  for (int rounds = 0; rounds < 1000 && !cqe; ++rounds) {  // too short for the timer
    rig.a.engine.step(++rig.now_ns);
    for (int i = 0; i < 40; ++i) rig.b.engine.step(rig.now_ns);
    cqe = rig.a.send_cq.poll();
  }
  ASSERT_TRUE(cqe);
  EXPECT_TRUE(same(rig.a, 0, rig.b, 0, kSize));
  EXPECT_EQ(udp.at(0).counters().overrun, 0u);
  EXPECT_EQ(udp.at(1).counters().sent, 122u);
}

// The peer's thread stands still. Packets that go alone take most of a buffer.
TEST(UdpWire, WritesUnderWayAreNoMoreThanTheBufferHolds) {
  for (const bool refuses_trains : {false, true}) {
    for (const std::uint32_t size : {8u, 64u, 4096u}) {
      UdpRig udp({.buffer = 100'000, .refuses_trains = refuses_trains});
      udp.expect_success(test::write_wqe(udp.rig, 0, 0, 2 * 4096));  // the train that is lost
      EngineRig& rig = udp.rig;
      for (int i = 0; i < 200; ++i) rig.a.post(test::write_wqe(rig, 0, 0, size));
      rig.a.ring();
      for (int i = 0; i < 100; ++i) rig.a.engine.step(++rig.now_ns);
      for (int i = 0; i < 200; ++i) ASSERT_TRUE(udp.next_cqe());
      EXPECT_EQ(udp.at(1).counters().overrun, 0u) << size;
    }
  }
}

TEST(UdpWire, CarriesEveryOperationOverIpv6) {
  if (!UdpSocket::open(*UdpAddress::parse("[::1]:0"))) GTEST_SKIP() << "no IPv6 here";
  UdpRig udp({.a = "[::1]:0", .b = "[::1]:0"});
  expect_traffic(udp);
}

TEST(UdpWire, CarriesAtomicsThatTheSpecificationHasNoPacketFor) {
  UdpRig udp;
  EngineRig& rig = udp.rig;
  rig.b.word<std::uint32_t>(8) = 0xfffffffe;
  rig.b.word<std::uint32_t>(12) = 7;
  Wqe add{.opcode = Opcode::atomic_masked_fa, .opmod = format::kOpmodAtomic4};
  add.body = {rig.b.remote(8),
              format::to_segment(format::MaskedAtomic4FaSegment{Be32{3}, Be32{0}, Be64{0}}),
              rig.a.data(800'000, 4)};
  udp.expect_success(add);
  EXPECT_EQ(rig.b.word<std::uint32_t>(8), 1u);
  EXPECT_EQ(rig.b.word<std::uint32_t>(12), 7u);
}

TEST(UdpWire, AnAddressThatItCannotHaveIsRefused) {
  const auto refusal_of = [](const std::string& address) {
    const Result<UdpSocket> socket = UdpSocket::open(*UdpAddress::parse(address));
    return socket ? "" : socket.error().message();
  };
  EXPECT_NE(refusal_of("0.0.0.0").find("0.0.0.0:4791 stands for all interfaces"),
            std::string::npos);
  EXPECT_NE(refusal_of("192.0.2.1").find("cannot be reached at 192.0.2.1:4791"), std::string::npos);
}

TEST(UdpWire, AnAddressThatIsTakenNamesWhoHasIt) {
  for (const char* const host : {"127.0.0.2", "::1"}) {
    const Result<UdpSocket> holder = UdpSocket::open({UdpAddress::parse(host)->ip, 0});
    if (!holder) continue;  // a host without IPv6
    const Result<UdpSocket> second = open_at({holder->address(), true});
    ASSERT_FALSE(second);
    const std::string message = second.error().message();
    const std::string who = "process " + std::to_string(::getpid()) + " (softnic_test) of user " +
                            std::to_string(::geteuid());
    for (const std::string& part :
         {holder->address().text(), who, std::string("gets a free one by port 0")}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
}

TEST(UdpWire, OptionsThatCannotBeAreRefused) {
  const auto refusal_of = [](const UdpOptions& options) {
    Result<UdpSocket> socket = UdpSocket::open(*UdpAddress::parse("127.0.0.1:0"));
    const auto wire = UdpWire::create(std::move(*socket), options);
    return wire ? "" : wire.error().message();
  };
  for (const std::uint32_t mtu : {0u, 128u, 1500u, 8192u}) {
    EXPECT_NE(refusal_of({.mtu = mtu}).find("not " + std::to_string(mtu)), std::string::npos);
  }
  EXPECT_NE(refusal_of({.psn_window = 1}).find("not 1"), std::string::npos);
  EXPECT_NE(refusal_of({.receive_slots = 0}), "");
}

TEST(UdpWire, TheLongestMtuIsTheOneWhosePacketsTheInterfaceCarries) {
  const std::pair<std::uint32_t, std::uint32_t> rows[] = {
      {339, 0},     {340, 256},   {1107, 512},  {1108, 1024}, {1500, 1024},
      {2132, 2048}, {4179, 2048}, {4180, 4096}, {4200, 4096}, {9000, 4096}};
  for (const auto& [interface, mtu] : rows)
    EXPECT_EQ(longest_roce_mtu(interface), mtu) << interface;
  EXPECT_EQ(longest_roce_mtu(355, kTagBytes), 0u);
  EXPECT_EQ(longest_roce_mtu(356, kTagBytes), 256u);
  EXPECT_EQ(longest_roce_mtu(4195, kTagBytes), 2048u);
  EXPECT_EQ(longest_roce_mtu(4196, kTagBytes), 4096u);
}

TEST(UdpWire, AStrangersPacketsAreDroppedAndCounted) {
  Two two;
  two.send(1);
  two.drop_until(two.wire->counters().strangers, 1);
  ASSERT_TRUE(two.wire->connect(7, two.other->address()));
  two.send(2);
  const Packet* const packet = two.next();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->header.psn, 2u);
  EXPECT_EQ(packet->header.source, 7u);
}

TEST(UdpWire, AnEndpointThatMovesIsFoundWhereItIsNow) {
  Two two;
  ASSERT_TRUE(two.wire->connect(7, *UdpAddress::parse("127.0.0.1:9")));
  two.send(1);
  two.drop_until(two.wire->counters().strangers, 1);
  ASSERT_TRUE(two.wire->connect(7, two.other->address()));
  two.send(2);
  ASSERT_NE(two.next(), nullptr);
}

TEST(UdpWire, TheTrafficClassTravels) {
  Two two;
  ASSERT_TRUE(two.wire->connect(7, two.other->address()));
  // The last ones can be marked, and are.
  for (const std::uint8_t traffic_class : {0, 0x68, 0xfc, 0x6a, 0x6b}) {
    two.send(1, traffic_class);
    const Packet* const packet = two.next();
    ASSERT_NE(packet, nullptr);
    EXPECT_EQ(packet->header.traffic_class, traffic_class);
    EXPECT_EQ(packet->header.service_level, traffic_class >> 5);
    two.wire->retire(packet);
  }
}

TEST(UdpWire, ReachesItself) {
  Two two;
  Packet packet;
  packet.header.destination = 0;
  packet.header.psn = 5;
  packet.header.aeth = {};
  EXPECT_TRUE(two.wire->send(packet));
  two.wire->flush();
  const Packet* const got = two.next();
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->header.source, 0u);
  EXPECT_EQ(got->header.psn, 5u);
}

TEST(UdpWire, NobodyIsConnectedWhereNobodyCanBe) {
  Two two;
  const auto refusal_of = [&](Endpoint endpoint, const std::string& address) {
    const Result<> connected = two.wire->connect(endpoint, *UdpAddress::parse(address));
    return connected ? "" : connected.error().message();
  };
  ASSERT_EQ(refusal_of(1, "127.0.0.1:5000"), "");
  ASSERT_EQ(refusal_of(1, "127.0.0.1:5000"), "");
  EXPECT_EQ(refusal_of(2, "127.0.0.1:5000"),
            "endpoint 2 at 127.0.0.1:5000: endpoint 1 is reached there");
  EXPECT_NE(refusal_of(3, "[::1]:5000").find("one is of IPv4, the other of IPv6"),
            std::string::npos);
  EXPECT_NE(refusal_of(3, "127.0.0.1:0").find("nobody is reached there"), std::string::npos);
  EXPECT_NE(refusal_of(3, "0.0.0.0").find("nobody is reached there"), std::string::npos);
  EXPECT_NE(refusal_of(0, "127.0.0.1:5001").find("this NIC itself"), std::string::npos);
  EXPECT_NE(refusal_of(3, "192.0.2.1"), "");  // from 127.0.0.1
}

TEST(UdpWire, APacketToNobodyIsLostAndCounted) {
  Two two;
  Packet packet;
  packet.header.destination = 99;
  EXPECT_TRUE(two.wire->send(packet));
  EXPECT_EQ(two.wire->counters().unconnected, 1u);
}

// Packets that nobody retires fill the wire's slots; the others wait in the socket.
TEST(UdpWire, ReceivesNoMoreThanItHasSlotsFor) {
  Two two({.receive_slots = 2});
  ASSERT_TRUE(two.wire->connect(7, two.other->address()));
  for (std::uint32_t psn = 1; psn <= 4; ++psn) two.send(psn);
  const Packet* const first = two.next();
  const Packet* const second = two.next();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(two.wire->receive(), nullptr);
  EXPECT_EQ(first->header.psn, 1u);
  EXPECT_EQ(second->header.psn, 2u);
  two.wire->retire(second);
  const Packet* const third = two.next();
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(third->header.psn, 3u);
  EXPECT_EQ(first->header.psn, 1u);
  two.wire->retire(third);
  two.wire->retire(first);
  const Packet* const fourth = two.next();
  ASSERT_NE(fourth, nullptr);
  EXPECT_EQ(fourth->header.psn, 4u);
}

}  // namespace
}  // namespace gdakit::softnic
