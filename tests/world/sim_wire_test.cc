#include "sim/world/sim_wire.h"

#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include "tests/world/nic_rig.h"

namespace gdakit::sim::test {
namespace {

struct Wires {
  explicit Wires(Strategy& strategy, const Knobs& given = {})
      : knobs(given), memory(64, names), chooser(strategy) {
    chooser.begin();
    memory.begin({}, chooser, nullptr);
    thread = memory.add_agent({0, 0, false});
    for (auto& agent : agents) agent = memory.add_agent({9, 9, true});
    fabric = std::make_unique<SimFabric>(memory, chooser, knobs);
    for (std::uint32_t i = 0; i < 2; ++i) {
      wires[i] = std::make_unique<SimWire>(*fabric, i, agents[i], i);
    }
  }
  ~Wires() {
    for (auto& wire : wires) wire.reset();
    EXPECT_EQ(fabric->in_flight(), 0u);
  }

  void send(std::uint32_t from, std::uint32_t to, std::uint32_t imm,
            const std::string& payload = "") {
    softnic::Packet packet;
    packet.header.opcode = softnic::PacketOpcode::send_only_imm;
    packet.header.destination = to;
    packet.header.imm = imm;
    packet.header.payload_size = static_cast<std::uint32_t>(payload.size());
    packet.payload = reinterpret_cast<const std::uint8_t*>(payload.data());
    EXPECT_TRUE(wires[from]->send(packet));
  }

  struct NoNames final : weak::Names {
    std::string place(weak::Address) const override { return "a word"; }
    std::string agent(weak::AgentId) const override { return "an agent"; }
  } names;
  Knobs knobs;
  weak::Memory memory;
  Chooser chooser;
  weak::AgentId thread = 0;
  weak::AgentId agents[2] = {};
  std::unique_ptr<SimFabric> fabric;
  std::unique_ptr<SimWire> wires[2];
};

TEST(SimWire, CarriesPacketsByValueAndInOrder) {
  Script plain;
  Wires wires(plain);
  {
    std::string payload = "gone after send";
    wires.send(0, 1, 1, payload);
    payload.assign(payload.size(), '?');
  }
  wires.send(0, 1, 2);
  EXPECT_EQ(wires.wires[0]->receive(), nullptr);
  EXPECT_EQ(wires.wires[1]->arrivals(), 2u);
  const softnic::Packet* first = wires.wires[1]->receive();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->header.imm, 1u);
  EXPECT_EQ(first->header.source, 0u);
  const softnic::Packet* second = wires.wires[1]->receive();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->header.imm, 2u);
  EXPECT_EQ(wires.wires[1]->receive(), nullptr);
  EXPECT_EQ(std::memcmp(first->payload, "gone after send", 15), 0)
      << "readable until it is retired";
  EXPECT_EQ(wires.fabric->in_flight(), 2u);
  wires.wires[1]->retire(second);
  wires.wires[1]->retire(first);
  EXPECT_EQ(wires.fabric->in_flight(), 0u);
}

TEST(SimWire, ReachesItsOwnNicAndLosesWhatIsForNobody) {
  Script plain;
  Wires wires(plain);
  wires.send(1, 1, 5);
  wires.send(1, 7, 6);
  const softnic::Packet* packet = wires.wires[1]->receive();
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->header.imm, 5u);
  wires.wires[1]->retire(packet);
  EXPECT_EQ(wires.fabric->in_flight(), 0u);
}

TEST(SimWire, LosesAndRepeatsOnlyByTheKnobs) {
  for (const bool loses : {false, true}) {
    for (const bool repeats : {false, true}) {
      Knobs knobs;
      knobs.wire_loss = loses ? YesNo::yes : YesNo::no;
      knobs.wire_repeats = repeats ? YesNo::yes : YesNo::no;
      Script faults([](Choice kind, std::uint32_t) { return kind == Choice::fault ? 1u : 0u; });
      Wires wires(faults, knobs);
      wires.send(0, 1, 1);
      EXPECT_EQ(wires.wires[1]->arrivals(), loses ? 0u : (repeats ? 2u : 1u));
      Script none;
      Wires good(none, knobs);
      good.send(0, 1, 1);
      EXPECT_EQ(good.wires[1]->arrivals(), 1u);
    }
  }
}

// More losses than retries would rightly end the connection.
TEST(SimWire, LosesFewerPacketsThanAQueuePairTriesAgain) {
  Knobs knobs;
  knobs.wire_loss = YesNo::yes;
  Script faults([](Choice kind, std::uint32_t) { return kind == Choice::fault ? 1u : 0u; });
  Wires wires(faults, knobs);
  for (int i = 0; i < 7; ++i) wires.send(0, 1, 1);
  EXPECT_EQ(wires.wires[1]->arrivals(), 1u);
}

// What NIC 1 reads where NIC 0 has written before, taking the oldest value it may.
std::uint64_t oldest_read(bool writes_before_sending) {
  Script oldest(
      [](Choice kind, std::uint32_t count) { return kind == Choice::load ? count - 1 : 0; });
  Wires wires(oldest);
  const weak::Access relaxed{.sem = weak::Sem::relaxed};
  if (writes_before_sending) wires.memory.store(wires.agents[0], 0, 8, 7, relaxed);
  wires.send(0, 1, 1);
  if (!writes_before_sending) wires.memory.store(wires.agents[0], 0, 8, 7, relaxed);
  wires.wires[1]->retire(wires.wires[1]->receive());
  return wires.memory.load(wires.agents[1], 0, 8, relaxed);
}

TEST(SimWire, ItsReceiverKnowsWhatTheSenderKnewThenAndNothingLater) {
  EXPECT_EQ(oldest_read(true), 7u);
  EXPECT_EQ(oldest_read(false), 0u);
}

}  // namespace
}  // namespace gdakit::sim::test
