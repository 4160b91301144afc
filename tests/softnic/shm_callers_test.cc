// Of many rings a wire looks at those of peers that call.
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/wire/shm_wire.h"

namespace gdakit::softnic {
namespace {

constexpr ShmOptions kMany{.endpoints = 130, .slots = 8, .rooms = 1};

bool send(ShmWire& wire, Endpoint to, std::uint32_t psn) {
  const std::uint64_t payload = 0;
  Packet packet;
  packet.header.opcode = PacketOpcode::write_only;
  packet.header.destination = to;
  packet.header.psn = psn;
  packet.header.payload_size = sizeof payload;
  packet.payload = reinterpret_cast<const std::uint8_t*>(&payload);
  const bool sent = wire.send(packet);
  wire.flush();
  return sent;
}

TEST(ShmCallers, FirstPacketsAreFoundAtOnce) {
  const auto segment = std::move(*ShmSegment::create(kMany));
  auto receiver = std::move(*segment->attach(65));
  for (const Endpoint peer : {0u, 63u, 64u, 65u, 127u, 128u, 129u}) {
    std::unique_ptr<ShmWire> other;
    if (peer != 65) other = std::move(*segment->attach(peer));
    ASSERT_TRUE(send(other != nullptr ? *other : *receiver, 65, peer));
    const Packet* const packet = receiver->receive();
    ASSERT_NE(packet, nullptr) << "of endpoint " << peer;
    EXPECT_EQ(packet->header.psn, peer);
    receiver->retire(packet);
    receiver->flush();
  }
}

// Nothing but time is lost with the bits, which any peer could take back.
TEST(ShmCallers, PeersThatDoNotCallAreLookedAtByTurns) {
  const auto segment = std::move(*ShmSegment::create(kMany));
  auto receiver = std::move(*segment->attach(0)), sender = std::move(*segment->attach(40));
  for (std::uint32_t psn = 0; psn < 8; ++psn) ASSERT_TRUE(send(*sender, 0, psn));
  const std::uint64_t nobody = 0;
  std::memcpy(segment->at(segment->layout().callers(0)), &nobody, sizeof nobody);
  EXPECT_EQ(receiver->receive(), nullptr) << "the rings of all are looked at";
  const Packet* packet = nullptr;
  for (std::uint32_t looks = 0; packet == nullptr && looks <= kMany.endpoints; ++looks) {
    packet = receiver->receive();
  }
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->header.psn, 0u);
  const Packet* const next = receiver->receive();
  ASSERT_NE(next, nullptr) << "from now on it is looked at each time";
  EXPECT_EQ(next->header.psn, 1u);
}

// Others that send all the time keep nobody out whose bit is gone.
TEST(ShmCallers, PeersThatDoNotCallAreLookedAtBetweenPacketsOfOthers) {
  const auto segment = std::move(*ShmSegment::create(kMany));
  auto receiver = std::move(*segment->attach(0)), victim = std::move(*segment->attach(40));
  auto busy = std::move(*segment->attach(41));
  ASSERT_TRUE(send(*victim, 0, 7));
  const std::uint64_t nobody = 0;
  std::memcpy(segment->at(segment->layout().callers(0)), &nobody, sizeof nobody);
  bool heard = false;
  for (std::uint32_t psn = 0; !heard && psn < 2 * 64 * kMany.endpoints; ++psn) {
    ASSERT_TRUE(send(*busy, 0, psn));
    const Packet* const packet = receiver->receive();
    if (packet == nullptr) continue;
    heard = packet->header.source == 40;
    receiver->retire(packet);
    receiver->flush();
  }
  EXPECT_TRUE(heard);
}

}  // namespace
}  // namespace gdakit::softnic
