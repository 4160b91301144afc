// A wire whose faults come and go while it carries packets.
#include <cstdint>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/softnic/wire/faulty_wire.h"
#include "backends/softnic/wire/loopback_wire.h"

namespace gdakit::softnic::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct ChangedFaults : testing::Test {
  void send(std::uint32_t psn, Endpoint to = 1) {
    Packet packet;
    packet.header.opcode = PacketOpcode::write_only;
    packet.header.destination = to;
    packet.header.psn = psn;
    ASSERT_TRUE(sender->send(packet));
    sender->flush();
  }
  // The PSNs that have come to an endpoint, in their order.
  std::vector<std::uint32_t> arrived(Endpoint at = 1) {
    sender->flush();
    std::vector<std::uint32_t> psns;
    Wire& wire = *receivers[at - 1];
    while (const Packet* packet = wire.receive()) {
      psns.push_back(packet->header.psn);
      wire.retire(packet);
    }
    wire.flush();
    return psns;
  }

  std::uint64_t now_ns = 1000;
  std::shared_ptr<LoopbackFabric> fabric = LoopbackFabric::create({.endpoints = 3});
  std::unique_ptr<FaultyWire> sender =
      std::make_unique<FaultyWire>(*fabric->attach(), nullptr, [this] { return now_ns; });
  std::vector<std::unique_ptr<Wire>> receivers = [this] {
    std::vector<std::unique_ptr<Wire>> both;
    for (int i = 0; i < 2; ++i) both.push_back(*fabric->attach());
    return both;
  }();
};

TEST_F(ChangedFaults, WithoutFatesItIsTheWireInside) {
  EXPECT_EQ(sender->path(1).psn_window, kMaxPsnWindow);
  send(0);
  send(1);
  EXPECT_THAT(arrived(), ElementsAre(0, 1));
  EXPECT_EQ(sender->counters().sent, 2u);
}

TEST_F(ChangedFaults, FaultsComeAndGo) {
  sender->set_faults({.drop = 1});
  send(2);
  EXPECT_THAT(arrived(), IsEmpty());
  sender->set_faults({});
  send(3);
  EXPECT_THAT(arrived(), ElementsAre(3));
  EXPECT_EQ(sender->counters().sent, 2u);
  EXPECT_EQ(sender->counters().dropped, 1u);
}

TEST_F(ChangedFaults, PartitionsAreThoseOfTheLastFaultsAlone) {
  sender->set_faults({.partitioned = {1}});
  send(4);
  send(5, 2);
  EXPECT_THAT(arrived(1), IsEmpty());
  EXPECT_THAT(arrived(2), ElementsAre(5));
  sender->set_faults({.partitioned = {2}});
  send(6);
  send(7, 2);
  EXPECT_THAT(arrived(1), ElementsAre(6));
  EXPECT_THAT(arrived(2), IsEmpty());
  sender->set_faults({});
  send(8, 2);
  EXPECT_THAT(arrived(2), ElementsAre(8));
  EXPECT_EQ(sender->counters().cut, 2u);
}

// A link is not the faults': it stays as it is.
TEST_F(ChangedFaults, ALinkThatIsDownStaysDown) {
  sender->set_link(false);
  sender->set_faults({});
  send(0);
  sender->set_link(true);
  send(1);
  EXPECT_THAT(arrived(), ElementsAre(1));
}

TEST_F(ChangedFaults, WhatIsHeldArrivesAfterTheyHaveGone) {
  sender->set_faults({.delay_min_ns = 500, .delay_max_ns = 500});
  send(0);
  sender->set_faults({});
  EXPECT_THAT(arrived(), IsEmpty());
  now_ns += 500;
  EXPECT_THAT(arrived(), ElementsAre(0));
  EXPECT_EQ(sender->held(), 0u);
}

}  // namespace
}  // namespace gdakit::softnic::test
