// Wires in shared memory whose endpoints are a part of those of a job.
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/wire/shm_wire.h"

namespace gdakit::softnic {
namespace {

std::shared_ptr<ShmSegment> segment_of_two() {
  return std::move(*ShmSegment::create({.endpoints = 2}));
}

Packet packet_to(Endpoint to, std::uint32_t psn) {
  Packet packet;
  packet.header.opcode = PacketOpcode::acknowledge;
  packet.header.destination = to;
  packet.header.psn = psn;
  packet.header.aeth = {};
  return packet;
}

TEST(ShmNumbers, AreWhatEndpointsAreCalledBy) {
  const auto segment = segment_of_two();
  const std::vector<Endpoint> numbers = {7, 3};
  auto a = *segment->attach(0, nullptr, numbers), b = *segment->attach(1, nullptr, numbers);
  EXPECT_EQ(a->endpoint(), 7u);
  EXPECT_EQ(b->endpoint(), 3u);
  EXPECT_TRUE(a->send(packet_to(3, 1)));
  EXPECT_TRUE(a->send(packet_to(1, 2)));  // nobody has this number
  EXPECT_TRUE(a->send(packet_to(512, 3)));
  a->flush();
  EXPECT_TRUE(a->unread(3));
  EXPECT_FALSE(a->unread(1) || a->unread(7) || a->unread(512));
  const Packet* const packet = b->receive();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->header.source, 7u);
  EXPECT_EQ(packet->header.destination, 3u);
  EXPECT_EQ(packet->header.psn, 1u);
  b->retire(packet);
  b->flush();
  EXPECT_EQ(b->receive(), nullptr);
  EXPECT_FALSE(a->unread(3));
}

TEST(ShmNumbers, AreOneForEachEndpoint) {
  const auto segment = segment_of_two();
  EXPECT_FALSE(segment->attach(0, nullptr, {1}));
  EXPECT_FALSE(segment->attach(0, nullptr, {1, 1}));
  EXPECT_FALSE(segment->attach(0, nullptr, {0, ShmSegment::kMaxNumbers}));
  EXPECT_TRUE(segment->attach(0, nullptr, {0, ShmSegment::kMaxNumbers - 1}));
}

// A fragment of the sender's heap, which lies elsewhere in the receiver.
TEST(ShmNumbers, NameTheHeapsOfPayloadByReference) {
  const auto segment = segment_of_two();
  const std::vector<Endpoint> numbers = {7, 3};
  const auto of_a = std::make_shared<PeerMemory>(8, 7), of_b = std::make_shared<PeerMemory>(8, 3);
  of_a->set(7, DmaAddress{0x10000}, 4096);
  of_b->set(7, DmaAddress{0x90000}, 4096);
  auto a = *segment->attach(0, of_a, numbers), b = *segment->attach(1, of_b, numbers);
  Packet packet = packet_to(3, 1);
  packet.header.opcode = PacketOpcode::write_only;
  packet.header.payload_size = 300;
  packet.header.fragment_count = 1;
  packet.fragments[0] = {DmaAddress{0x10040}, 300};
  ASSERT_TRUE(a->by_reference(packet));
  EXPECT_TRUE(a->send(packet));
  a->flush();
  const Packet* const received = b->receive();
  ASSERT_NE(received, nullptr);
  ASSERT_EQ(received->header.fragment_count, 1);
  EXPECT_EQ(received->fragments[0].address.value, 0x90040u);
  EXPECT_EQ(received->fragments[0].size, 300u);
}

}  // namespace
}  // namespace gdakit::softnic
