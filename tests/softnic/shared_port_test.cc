// NICs that share one UDP port.
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "backends/softnic/wire/nic_place.h"
#include "backends/softnic/wire/port_share.h"
#include "tests/softnic/udp_sender.h"
#include "tests/softnic/udp_wires.h"

namespace gdakit::softnic {
namespace {

using namespace std::chrono_literals;
using test::Sender;
using test::wire_at;
using testing::ElementsAre;
using testing::IsEmpty;

UdpAddress any_port() { return *UdpAddress::parse("127.0.0.1:0"); }

std::vector<UdpSocket> shared(std::uint32_t count, const UdpAddress& address = any_port()) {
  auto sockets = UdpSocket::open_shared(address, count);
  EXPECT_TRUE(sockets) << sockets.error().message();
  return sockets ? std::move(*sockets) : std::vector<UdpSocket>();
}

// A datagram to this QPN that ends in a byte.
std::vector<std::uint8_t> datagram_to(std::uint32_t qpn, std::uint8_t last) {
  const auto byte = [qpn](int shift) { return static_cast<std::uint8_t>(qpn >> shift); };
  return {4, 0, 0xff, 0xff, 0, byte(16), byte(8), byte(0), last};
}

// The last bytes of what has come to the socket.
std::vector<int> arrived(const UdpSocket& socket) {
  std::vector<int> last;
  std::array<std::uint8_t, 64> bytes{};
  for (;;) {
    const ssize_t size = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (size <= 0) return last;
    last.push_back(bytes[static_cast<std::size_t>(size) - 1]);
  }
}

TEST(PortShare, CutsTheNumbersOfQueuePairs) {
  EXPECT_EQ(PortShare().first_qpn(), 0u);
  EXPECT_EQ(PortShare().qpns(), 1u << 24);
  EXPECT_EQ(PortShare::of(1, 2).first_qpn(), 1u << 23);
  EXPECT_EQ(PortShare::of(2, 3).first_qpn(), 2u << 22);
  EXPECT_EQ(PortShare::of(4, 5).bits, 3u);
  EXPECT_EQ(PortShare::of(511, 512).first_qpn() + PortShare::of(511, 512).qpns(), 1u << 24);
}

TEST(SharedPort, ADatagramGoesToTheSocketOfItsQueuePair) {
  for (const std::uint32_t count : {2u, 3u, 5u, 64u}) {
    const std::vector<UdpSocket> sockets = shared(count);
    ASSERT_EQ(sockets.size(), count);
    Sender sender;
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(sockets[i].address(), sockets[0].address());
      const PortShare share = PortShare::of(i, count);
      const auto mark = static_cast<std::uint8_t>(i);
      sender.send(sockets[0].address(), datagram_to(share.first_qpn(), mark));
      sender.send(sockets[0].address(), datagram_to(share.first_qpn() + share.qpns() - 1, mark));
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_THAT(arrived(sockets[i]), ElementsAre(i, i));
    }
  }
}

TEST(SharedPort, WhatNamesNoQueuePairIsOneOfThem) {
  const std::vector<UdpSocket> sockets = shared(3);
  Sender sender;
  sender.send(sockets[0].address(), {1, 2, 3});
  sender.send(sockets[0].address(), datagram_to(0xffffff, 7));
  std::size_t all = 0;
  for (const UdpSocket& socket : sockets) all += arrived(socket).size();
  EXPECT_EQ(all, 2u);
}

TEST(SharedPort, IsTakenForEverybodyElse) {
  const std::vector<UdpSocket> sockets = shared(2);
  EXPECT_FALSE(UdpSocket::open(sockets[0].address()));
  EXPECT_FALSE(UdpSocket::open_shared(sockets[0].address(), 2));
}

TEST(SharedPort, IsNotToBeHadWhereSomebodyElseHasIt) {
  const Result<UdpSocket> holder = UdpSocket::open(any_port());
  ASSERT_TRUE(holder);
  const auto sockets = UdpSocket::open_shared(holder->address(), 2);
  ASSERT_FALSE(sockets);
  EXPECT_EQ(sockets.error().system_code(), EADDRINUSE);
  NicPlace place{holder->address(), true};
  EXPECT_FALSE(open_shared_at(place, 2));
  place.has_port = false;
  const auto free_port = open_shared_at(place, 2);
  ASSERT_TRUE(free_port) << free_port.error().message();
  EXPECT_NE((*free_port)[0].address(), holder->address());
  EXPECT_EQ((*free_port)[0].address(), (*free_port)[1].address());
}

// A full buffer of one loses nothing of another's.
TEST(SharedPort, OneNicsFloodDoesNotTouchAnother) {
  constexpr std::uint32_t kSmall = 4096;
  auto sockets = UdpSocket::open_shared(any_port(), 2, kSmall);
  ASSERT_TRUE(sockets);
  Sender sender;
  const UdpAddress there = (*sockets)[0].address();
  for (int i = 0; i < 1000; ++i) sender.send(there, datagram_to(5, 1));
  sender.send(there, datagram_to(PortShare::of(1, 2).first_qpn() + 5, 2));
  EXPECT_THAT(arrived((*sockets)[1]), ElementsAre(2));
  EXPECT_LT(arrived((*sockets)[0]).size(), 1000u);
}

TEST(SharedPort, ASocketGoesToAnotherProcessByItsDescriptor) {
  std::vector<UdpSocket> sockets = shared(2);
  auto given = UdpSocket::adopt(sockets[1].duplicate());
  ASSERT_TRUE(given) << given.error().message();
  EXPECT_EQ(given->address(), sockets[0].address());
  sockets.pop_back();
  Sender sender;
  sender.send(sockets[0].address(), datagram_to(PortShare::of(1, 2).first_qpn(), 9));
  EXPECT_THAT(arrived(*given), ElementsAre(9));
  EXPECT_THAT(arrived(sockets[0]), IsEmpty());
  EXPECT_FALSE(UdpSocket::adopt(UniqueFileDescriptor(::dup(0))));
}

// Two NICs of one port, and one elsewhere.
TEST(SharedPort, APeerIsKnownByThePortThatItSendsFrom) {
  std::vector<UdpSocket> sockets = shared(2);
  std::vector<std::unique_ptr<UdpWire>> near;
  for (std::uint32_t i = 0; i < 2; ++i) {
    UdpPort port(std::move(sockets[i]));
    port.sender = std::move(*UdpSocket::open(any_port()));
    near.push_back(std::move(*UdpWire::create(std::move(port), {.endpoint = i})));
  }
  const auto far = wire_at("127.0.0.1:0", {.endpoint = 2});
  for (Endpoint i = 0; i < 2; ++i) {
    ASSERT_TRUE(near[i]->connect(2, far->address()));
    ASSERT_TRUE(far->connect(i, near[i]->address(), near[i]->sender()));
  }
  EXPECT_EQ(near[0]->address(), near[1]->address());
  const auto send = [](UdpWire& from, Endpoint to, std::uint32_t qpn) {
    Packet packet;
    packet.header.destination = to;
    packet.header.destination_qpn = qpn;
    packet.header.opcode = PacketOpcode::acknowledge;
    packet.header.aeth = {};
    EXPECT_TRUE(from.send(packet));
    from.flush();
  };
  const auto source_of_next = [](UdpWire& wire) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < end) {
      const Packet* const packet = wire.receive();
      if (packet == nullptr) continue;
      const Endpoint source = packet->header.source;
      wire.retire(packet);
      return static_cast<int>(source);
    }
    return -1;
  };
  for (std::uint32_t i = 0; i < 2; ++i) {
    send(*near[i], 2, 5);
    EXPECT_EQ(source_of_next(*far), static_cast<int>(i));
    send(*far, i, PortShare::of(i, 2).first_qpn() + 3);
    EXPECT_EQ(source_of_next(*near[i]), 2);
    // To itself.
    send(*near[i], i, PortShare::of(i, 2).first_qpn() + 3);
    EXPECT_EQ(source_of_next(*near[i]), static_cast<int>(i));
  }
  EXPECT_EQ(near[0]->counters().strangers + near[1]->counters().strangers, 0u);
  EXPECT_EQ(far->counters().strangers, 0u);
}

}  // namespace
}  // namespace gdakit::softnic
