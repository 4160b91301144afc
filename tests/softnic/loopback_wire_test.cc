#include "backends/softnic/wire/loopback_wire.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

Packet small_packet(Endpoint to, std::uint32_t psn) {
  static const std::uint8_t kBytes[kSmallPayload] = {1, 2, 3};
  Packet packet;
  packet.header.destination = to;
  packet.header.psn = psn;
  packet.header.payload_size = 3;
  packet.payload = kBytes;
  return packet;
}

Packet reference_packet(Endpoint to, std::uint32_t psn) {
  Packet packet = small_packet(to, psn);
  packet.header.fragment_count = 1;
  packet.fragments[0] = {{0x1000}, 3};
  return packet;
}

TEST(LoopbackWire, CarriesPacketsToTheirEndpointInOrder) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 8});
  auto a = std::move(*fabric->attach()), b = std::move(*fabric->attach());
  EXPECT_EQ(a->endpoint(), 0u);
  EXPECT_EQ(b->endpoint(), 1u);
  EXPECT_EQ(a->mtu(), 1024u);
  for (std::uint32_t psn = 0; psn < 3; ++psn) ASSERT_TRUE(a->send(small_packet(1, psn)));
  EXPECT_EQ(b->receive(), nullptr);  // before flush
  a->flush();
  for (std::uint32_t psn = 0; psn < 3; ++psn) {
    const Packet* packet = b->receive();
    ASSERT_NE(packet, nullptr);
    EXPECT_EQ(packet->header.psn, psn);
    EXPECT_EQ(packet->header.source, 0u);
    EXPECT_EQ(packet->payload[2], 3);
    b->retire(packet);
  }
  EXPECT_EQ(b->receive(), nullptr);
  EXPECT_EQ(a->receive(), nullptr);
}

TEST(LoopbackWire, RefusesWhenFullAndTakesMoreAfterRetiring) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 2});
  auto a = std::move(*fabric->attach()), b = std::move(*fabric->attach());
  ASSERT_TRUE(a->send(small_packet(1, 0)));
  ASSERT_TRUE(a->send(small_packet(1, 1)));
  EXPECT_FALSE(a->send(small_packet(1, 2)));
  a->flush();
  const Packet* packet = b->receive();
  EXPECT_FALSE(a->send(small_packet(1, 2)));
  b->retire(packet);
  b->flush();
  EXPECT_TRUE(a->send(small_packet(1, 2)));
}

TEST(LoopbackWire, LosesWhatIsSentToNobody) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 2});
  auto a = std::move(*fabric->attach());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(a->send(small_packet(7, 0)));
  EXPECT_TRUE(a->send(small_packet(1'000'000, 0)));
}

TEST(LoopbackWire, AnEndpointMayBeGivenAgainAndStartsEmpty) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 4});
  auto a = std::move(*fabric->attach()), b = std::move(*fabric->attach());
  EXPECT_FALSE(fabric->attach(1));
  ASSERT_TRUE(a->send(small_packet(1, 5)));
  a->flush();
  b.reset();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(a->send(small_packet(1, 6)));
  auto again = fabric->attach(1);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->receive(), nullptr);
  ASSERT_TRUE(a->send(small_packet(1, 7)));
  a->flush();
  const Packet* packet = (*again)->receive();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->header.psn, 7u);
}

TEST(LoopbackWire, HasNoMoreThanItsEndpoints) {
  const auto fabric = LoopbackFabric::create({.endpoints = 100});
  EXPECT_FALSE(fabric->attach(100));
  EXPECT_TRUE(fabric->attach(99));
}

TEST(LoopbackWire, RingsGrowWithTheEndpointsAndNotWithTheirSquare) {
  constexpr std::size_t kMillion = 1'000'000;
  for (const std::uint32_t endpoints : {2u, 8u, 64u}) {
    const auto fabric = LoopbackFabric::create(LoopbackOptions::for_endpoints(endpoints));
    std::vector<std::unique_ptr<Wire>> wires;
    for (Endpoint i = 0; i < endpoints; ++i) wires.push_back(std::move(*fabric->attach()));
    EXPECT_EQ(fabric->ring_bytes(), 0u) << "before anything is sent";
    for (const auto& wire : wires) {
      for (Endpoint to = 0; to < endpoints; ++to) ASSERT_TRUE(wire->send(small_packet(to, 0)));
    }
    EXPECT_LE(fabric->ring_bytes(), 2 * kMillion * endpoints) << endpoints << " endpoints";
  }
}

// All that comes while a receiver polls more often than it looks at an empty ring.
std::uint32_t received_until_idle(Wire& wire) {
  std::uint32_t received = 0;
  for (int poll = 0; poll < 80; ++poll) {
    while (const Packet* packet = wire.receive()) {
      wire.retire(packet);
      ++received;
    }
    wire.flush();
  }
  return received;
}

TEST(LoopbackWire, WithoutTrafficAPollCostsTheSameHoweverManyPeersThereAre) {
  constexpr std::uint32_t kEndpoints = 300;
  const auto fabric = LoopbackFabric::create(LoopbackOptions::for_endpoints(kEndpoints));
  std::vector<std::unique_ptr<Wire>> wires;
  for (Endpoint i = 0; i < kEndpoints; ++i) wires.push_back(std::move(*fabric->attach()));
  EXPECT_EQ(fabric->rings_looked_at(0), 0u) << "nobody has sent anything";
  for (int round = 0; round < 2; ++round) {
    for (const auto& wire : wires) {
      ASSERT_TRUE(wire->send(small_packet(0, 1)));
      wire->flush();
    }
    EXPECT_EQ(fabric->rings_looked_at(0), kEndpoints);
    EXPECT_EQ(received_until_idle(*wires[0]), kEndpoints);
    EXPECT_LE(fabric->rings_looked_at(0), 8u) << "all is received";
  }
}

TEST(LoopbackWire, SendersWithMuchToSendTakeTurns) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 64});
  std::vector<std::unique_ptr<Wire>> wires;
  for (int i = 0; i < 4; ++i) wires.push_back(std::move(*fabric->attach()));
  for (int from = 1; from < 4; ++from) {
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(wires[from]->send(small_packet(0, 0)));
    wires[from]->flush();
  }
  std::vector<int> received(4);
  for (int i = 0; i < 3 * 16; ++i) {
    const Packet* packet = wires[0]->receive();
    ASSERT_NE(packet, nullptr);
    ++received[packet->header.source];
    wires[0]->retire(packet);
  }
  EXPECT_EQ(received, (std::vector<int>{0, 16, 16, 16}));
}

// The receiver stops looking at the ring again and again while packets come, one after the other.
TEST(LoopbackWire, ARingThatIsLookedAtNoMoreIsHeardOf) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 8, .endpoints = 100});
  auto a = std::move(*fabric->attach(99)), b = std::move(*fabric->attach(1));
  // A few rings are looked at all the time, whoever has sent.
  std::vector<std::unique_ptr<Wire>> others;
  for (Endpoint other = 10; other < 20; ++other) {
    others.push_back(std::move(*fabric->attach(other)));
    ASSERT_TRUE(others.back()->send(small_packet(1, 0)));
    others.back()->flush();
  }
  ASSERT_EQ(received_until_idle(*b), 10u);
  std::atomic<std::uint32_t> sent{0}, received{0};
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    while (!stop) {
      if (received != sent) continue;
      // Sometimes at once, sometimes about when the receiver gives the ring up, and later.
      for (std::atomic<std::uint32_t> spin{sent % 256}; spin != 0; --spin) {
      }
      EXPECT_TRUE(a->send(small_packet(1, sent)));
      a->flush();
      ++sent;
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto lasts = [&begin](std::chrono::milliseconds time) {
    return std::chrono::steady_clock::now() - begin < time;
  };
  while (lasts(std::chrono::milliseconds(500)) ||
         (received < 200 && lasts(std::chrono::seconds(60)))) {
    received += received_until_idle(*b);
  }
  stop = true;
  sender.join();
  received += received_until_idle(*b);
  EXPECT_EQ(received, sent);
  EXPECT_GT(sent, 100u);
}

// Its sender need not ring again.
TEST(LoopbackWire, TheNextOwnerOfANumberLooksAtRingsWhoseSendersHaveRung) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 4});
  auto a = std::move(*fabric->attach()), b = std::move(*fabric->attach());
  ASSERT_TRUE(a->send(small_packet(1, 1)));
  a->flush();
  ASSERT_NE(b->receive(), nullptr);
  b.reset();
  b = std::move(*fabric->attach(1));
  ASSERT_EQ(fabric->rings_looked_at(1), 1u);
  ASSERT_TRUE(a->send(small_packet(1, 2)));
  a->flush();
  const Packet* packet = b->receive();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->header.psn, 2u);
}

TEST(LoopbackRecall, VoidsWhatIsByReferenceAndStillUnread) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 8});
  auto a = std::move(*fabric->attach()), b = std::move(*fabric->attach());
  ASSERT_TRUE(a->send(reference_packet(1, 0)));
  ASSERT_TRUE(a->send(small_packet(1, 1)));
  a->flush();
  Recall recall = a->recall({.everything = true});
  EXPECT_TRUE(a->recalled(recall));
  ASSERT_TRUE(a->send(reference_packet(1, 2)));
  a->flush();
  const Packet* packet = b->receive();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->header.psn, 1u);
  b->retire(packet);
  packet = b->receive();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->header.psn, 2u);
  b->retire(packet);
}

TEST(LoopbackRecall, VoidsWhatIsInItsScopeAndNothingElse) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 8});
  auto a = std::move(*fabric->attach()), b = std::move(*fabric->attach());
  // Of two fragments each, found by keys 10 n and 10 n + 1, n the sender.
  const auto send = [&](PacketOpcode opcode, QpNumber qpn) {
    Packet packet = reference_packet(1, qpn);
    packet.header.opcode = opcode;
    packet.sender = qpn;
    packet.header.fragment_count = 2;
    packet.fragments[0] = {{0x1000}, 2, 10 * qpn};
    packet.fragments[1] = {{0x2000}, 1, 10 * qpn + 1};
    ASSERT_TRUE(a->send(packet));
  };
  for (const QpNumber qpn : {1u, 2u, 3u}) send(PacketOpcode::write_only, qpn);
  send(PacketOpcode::read_response_only, 3);
  send(PacketOpcode::read_response_only, 4);
  a->flush();
  const Recall of_key = a->recall({.key = 21});
  ASSERT_EQ(of_key.taken.size(), 1u);
  EXPECT_EQ(of_key.taken[0].sender, 2u);
  const Recall of_requester = a->recall({.requester = 3});
  ASSERT_EQ(of_requester.taken.size(), 1u);
  EXPECT_EQ(of_requester.taken[0].sender, 3u);
  EXPECT_TRUE(a->recall({.key = 40}).taken.empty()) << "of a response";
  EXPECT_TRUE(a->recall({.key = 12}).taken.empty());
  for (const auto opcode : {PacketOpcode::write_only, PacketOpcode::read_response_only}) {
    const Packet* packet = b->receive();
    ASSERT_NE(packet, nullptr);
    EXPECT_EQ(packet->header.opcode, opcode);
    EXPECT_EQ(packet->header.psn, opcode == PacketOpcode::write_only ? 1u : 3u) << "the sender";
    b->retire(packet);
  }
  EXPECT_EQ(b->receive(), nullptr);
}

// What its predecessor has taken back is in free slots by now, whose bits are still set.
TEST(LoopbackRecall, OfAnEndpointThatIsGoneHidesNothingOfItsSuccessor) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 8});
  auto a = std::move(*fabric->attach()), b = std::move(*fabric->attach());
  for (std::uint32_t psn = 0; psn < 8; ++psn) ASSERT_TRUE(a->send(reference_packet(1, psn)));
  a->flush();
  a.reset();
  EXPECT_EQ(b->receive(), nullptr);
  b->flush();
  a = std::move(*fabric->attach());
  for (std::uint32_t psn = 0; psn < 8; ++psn) ASSERT_TRUE(a->send(reference_packet(1, psn)));
  a->flush();
  for (std::uint32_t psn = 0; psn < 8; ++psn) {
    const Packet* packet = b->receive();
    ASSERT_NE(packet, nullptr) << psn;
    b->retire(packet);
  }
}

TEST(LoopbackRecall, WaitsForNoReaderOfOtherPackets) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 8});
  auto a = std::move(*fabric->attach()), b = std::move(*fabric->attach());
  ASSERT_TRUE(a->send(reference_packet(1, 0)));
  a->flush();
  const Packet* packet = b->receive();
  ASSERT_NE(packet, nullptr);
  Recall recall = a->recall({.key = 1});
  EXPECT_TRUE(a->recalled(recall));
  b->retire(packet);
}

TEST(LoopbackRecall, DoesNotWaitForAReaderThatIsGone) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 8});
  auto a = std::move(*fabric->attach()), b = std::move(*fabric->attach());
  ASSERT_TRUE(a->send(reference_packet(1, 0)));
  a->flush();
  ASSERT_NE(b->receive(), nullptr);
  Recall recall = a->recall({.everything = true});
  EXPECT_FALSE(a->recalled(recall));
  b.reset();
  EXPECT_TRUE(a->recalled(recall));
}

TEST(LoopbackRecall, WaitsForAReaderThatHasThePacket) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 8});
  auto a = std::move(*fabric->attach()), b = std::move(*fabric->attach());
  ASSERT_TRUE(a->send(reference_packet(1, 0)));
  a->flush();
  const Packet* packet = b->receive();
  ASSERT_NE(packet, nullptr);
  Recall recall = a->recall({.everything = true});
  EXPECT_FALSE(a->recalled(recall));
  b->flush();
  EXPECT_FALSE(a->recalled(recall));  // the step is over, its copy is not
  b->retire(packet);
  EXPECT_FALSE(a->recalled(recall));
  b->flush();
  EXPECT_TRUE(a->recalled(recall));
}

// Whoever gave the first recall up frees its memory never, the second's as soon as it has ended.
TEST(LoopbackRecall, CoversWhatWasSentSinceOneThatDidNotEnd) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 8});
  auto a = std::move(*fabric->attach()), b = std::move(*fabric->attach());
  ASSERT_TRUE(a->send(reference_packet(1, 0)));
  a->flush();
  const Packet* const held = b->receive();
  ASSERT_NE(held, nullptr);
  Recall recall = a->recall({.everything = true});
  ASSERT_FALSE(a->recalled(recall));
  ASSERT_TRUE(a->send(reference_packet(1, 1)));
  a->flush();
  Recall second = a->recall({.everything = true});
  EXPECT_FALSE(a->recalled(second));
  b->retire(held);
  b->flush();
  EXPECT_TRUE(a->recalled(second));
  EXPECT_EQ(b->receive(), nullptr);
}

TEST(LoopbackWire, KnowsWhatAPeerHasYetToRead) {
  const auto fabric = LoopbackFabric::create({.mtu = 1024, .slots = 8});
  auto a = std::move(*fabric->attach()), b = std::move(*fabric->attach());
  EXPECT_FALSE(a->unread(1));
  ASSERT_TRUE(a->send(small_packet(1, 0)));
  a->flush();
  EXPECT_TRUE(a->unread(1));
  b->retire(b->receive());
  EXPECT_TRUE(a->unread(1));
  b->flush();
  EXPECT_FALSE(a->unread(1));
  ASSERT_TRUE(a->send(small_packet(1, 1)));
  a->flush();
  EXPECT_TRUE(a->unread(1));
  b.reset();
  EXPECT_FALSE(a->unread(1));
  EXPECT_FALSE(a->unread(1000));
}

}  // namespace
}  // namespace gdakit::softnic
