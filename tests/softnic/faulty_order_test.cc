// The order in which packets come out of a FaultyWire: the same for a seed, whatever becomes of the
// code, so that a failure that names a seed can be had again.
#include <gtest/gtest.h>

#include "backends/softnic/wire/faulty_wire.h"
#include "backends/softnic/wire/loopback_wire.h"

namespace gdakit::softnic::test {
namespace {

// Mixes the PSNs of all that has come, in their order (FNV-1a).
class Order {
 public:
  void add(std::uint32_t psn) {
    ++count_;
    hash_ = (hash_ ^ psn) * 0x100000001b3;
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t hash() const { return hash_; }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

// Of 20000 packets, flushed after 1 to 40 of them, with a clock that goes on by 100 ns a packet.
Order order_of(const Faults& faults) {
  std::uint64_t now_ns = 1000;
  const auto fabric = LoopbackFabric::create({.slots = 4096, .endpoints = 2});
  const auto sender = make_faulty(*fabric->attach(), faults, [&now_ns] { return now_ns; });
  const auto receiver = std::move(*fabric->attach());
  FaultWords steps(7, 0);
  Order order;
  const auto flush = [&] {
    sender->flush();
    while (const Packet* packet = receiver->receive()) {
      order.add(packet->header.psn);
      receiver->retire(packet);
    }
    receiver->flush();
  };
  std::uint64_t until_flush = 1;
  for (std::uint32_t psn = 0; psn < 20'000; ++psn, now_ns += 100) {
    Packet packet;
    packet.header.opcode = PacketOpcode::write_only;
    packet.header.destination = 1;
    packet.header.psn = psn;
    for (int tries = 0; tries < 100 && !sender->send(packet); ++tries) flush();
    if (--until_flush != 0) continue;
    flush();
    until_flush = 1 + steps.below(40);
  }
  now_ns += 1'000'000;
  for (std::uint32_t i = 0; i <= FaultyWire::kMaxFlushes; ++i) flush();
  return order;
}

void expect_order(const Faults& faults, std::uint64_t count, std::uint64_t hash) {
  const Order order = order_of(faults);
  EXPECT_EQ(order.count(), count);
  EXPECT_EQ(order.hash(), hash) << std::hex << "0x" << order.hash();
}

TEST(FaultyOrder, OfAFewLatePackets) {
  expect_order({.seed = 1, .drop = 0.01, .repeat = 0.01, .reorder = 0.05}, 19953,
               0xec04981034e89bf1);
}

TEST(FaultyOrder, OfManyThatWaitForManyOthers) {
  expect_order({.seed = 2, .repeat = 0.1, .reorder = 0.9, .reorder_depth = 1024}, 21911,
               0x43ffcec8ff850e2d);
}

TEST(FaultyOrder, OfPacketsThatWaitForOthersAndForTheirTime) {
  expect_order({.seed = 3,
                .drop = 0.05,
                .repeat = 0.05,
                .reorder = 0.5,
                .reorder_depth = 200,
                .delay_min_ns = 0,
                .delay_max_ns = 20'000,
                .down_every_ns = 100'000,
                .down_for_ns = 3'000},
               18794, 0x223808525dc5e356);
}

}  // namespace
}  // namespace gdakit::softnic::test
