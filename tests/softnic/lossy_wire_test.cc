// The wire double itself: it is fair before a ring that is full, and forgets what is recalled.
#include "tests/softnic/lossy_wire.h"

#include <gtest/gtest.h>

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/wire/loopback_wire.h"

namespace gdakit::softnic::test {
namespace {

// Two endpoints, of which the first loses what it sends by `losses`, with rings of one packet.
struct Narrow {
  explicit Narrow(const Losses& losses)
      : fabric(LoopbackFabric::create({.slots = 1, .endpoints = 2})),
        sender(std::move(*fabric->attach()), losses),
        receiver(std::move(*fabric->attach())) {}

  static Packet packet(std::uint32_t psn) {
    Packet packet;
    packet.header.opcode = PacketOpcode::write_only;
    packet.header.destination = 1;
    packet.header.psn = psn;
    return packet;
  }
  // Receives and retires the packet that lies in the ring.
  bool take() {
    sender.flush();
    const Packet* const taken = receiver->receive();
    if (taken != nullptr) receiver->retire(taken);
    receiver->flush();
    return taken != nullptr;
  }

  std::shared_ptr<LoopbackFabric> fabric;
  LossyWire sender;
  std::unique_ptr<Wire> receiver;
};

TEST(LossyWire, DecidesOnceHoweverOftenAPacketIsTried) {
  std::uint64_t lost = 0;
  constexpr std::uint32_t kSeeds = 200;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    Narrow wires({.seed = seed, .drop_percent = 2});
    std::uint32_t psn = 0;
    while (wires.sender.send(Narrow::packet(psn))) ++psn;
    const std::uint64_t before = wires.sender.dropped;
    for (int tries = 0; tries < 1000; ++tries) {
      static_cast<void>(wires.sender.send(Narrow::packet(psn)));
    }
    lost += wires.sender.dropped - before;
    ASSERT_TRUE(wires.take());
    ASSERT_TRUE(wires.sender.send(Narrow::packet(psn)));
    EXPECT_TRUE(wires.take());
    ASSERT_EQ(wires.sender.sent, psn + 1);
  }
  // The toss of the first try has let each of them pass.
  EXPECT_EQ(lost, 0u);
}

TEST(LossyWire, AsksOncePerPacketWhatToDrop) {
  int asked = 0;
  Narrow wires({.drop = [&asked](const Packet&) { return ++asked == 3; }});
  EXPECT_TRUE(wires.sender.send(Narrow::packet(0)));
  for (int tries = 0; tries < 10; ++tries) EXPECT_FALSE(wires.sender.send(Narrow::packet(1)));
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(wires.sender.send(Narrow::packet(2)));
  EXPECT_EQ(wires.sender.dropped, 1u);
}

TEST(LossyWire, ForgetsWhatItHoldsOfRecalledMemory) {
  Narrow wires({.delay_percent = 100});
  const std::uint64_t word = 1;
  for (const std::uint32_t number : {1u, 2u, 3u}) {
    Packet named = Narrow::packet(number);
    named.sender = number;
    named.header.payload_size = sizeof word;
    named.header.fragment_count = 1;
    named.fragments[0] = {host_address(&word), sizeof word, 10 * number};
    EXPECT_TRUE(wires.sender.send(named));
  }
  EXPECT_TRUE(wires.sender.send(Narrow::packet(4)));
  EXPECT_EQ(wires.sender.held(), 4u);
  const Recall of_key = wires.sender.recall({.key = 20});
  ASSERT_EQ(of_key.taken.size(), 1u);
  EXPECT_EQ(of_key.taken[0].sender, 2u);
  EXPECT_EQ(wires.sender.recall({.requester = 1}).taken.size(), 1u);
  EXPECT_EQ(wires.sender.held(), 2u);
  static_cast<void>(wires.sender.recall({.everything = true}));
  EXPECT_EQ(wires.sender.held(), 1u);
}

}  // namespace
}  // namespace gdakit::softnic::test
