// The wire that does to packets what a bad network does, fault by fault.
#include "backends/softnic/wire/faulty_wire.h"

#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/wire/loopback_wire.h"

namespace gdakit::softnic::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Told final : public Fates {
 public:
  explicit Told(std::function<Fate(const Packet&)> tell) : tell_(std::move(tell)) {}
  Fate fate(const Packet& packet) override { return tell_(packet); }

 private:
  std::function<Fate(const Packet&)> tell_;
};

Packet plain(std::uint32_t psn, Endpoint to = 1) {
  Packet packet;
  packet.header.opcode = PacketOpcode::write_only;
  packet.header.destination = to;
  packet.header.psn = psn;
  return packet;
}

// A fate for one PSN; all others come through.
Told* only(std::uint32_t psn, const Fate& fate) {
  return new Told([=](const Packet& packet) { return packet.header.psn == psn ? fate : Fate(); });
}

// Endpoint 0 with faults, 1 and 2 without.
class Net {
 public:
  explicit Net(Fates* fates, std::uint32_t slots = 512)
      : Net(slots, [this, fates](std::unique_ptr<Wire> inner) {
          return std::make_unique<FaultyWire>(std::move(inner), std::unique_ptr<Fates>(fates),
                                              [this] { return now_ns; });
        }) {}
  explicit Net(const Faults& faults)
      : Net(512, [this, &faults](std::unique_ptr<Wire> inner) {
          return make_faulty(std::move(inner), faults, [this] { return now_ns; });
        }) {}

  // The PSNs that have come to an endpoint, in their order.
  std::vector<std::uint32_t> arrived(Endpoint at = 1) {
    std::vector<std::uint32_t> psns;
    Wire& wire = *receivers[at - 1];
    while (const Packet* packet = wire.receive()) {
      psns.push_back(packet->header.psn);
      payloads.emplace_back(packet->payload, packet->payload + packet->header.payload_size);
      wire.retire(packet);
    }
    wire.flush();
    return psns;
  }
  std::vector<std::uint32_t> flushed() {
    sender->flush();
    return arrived();
  }
  void send(std::uint32_t first, std::uint32_t count, Endpoint to = 1) {
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_TRUE(sender->send(plain(first + i, to)));
  }
  const FaultCounters& counters() const { return sender->counters(); }

  std::uint64_t now_ns = 1000;
  std::shared_ptr<LoopbackFabric> fabric;
  std::unique_ptr<FaultyWire> sender;
  std::vector<std::unique_ptr<Wire>> receivers;
  std::vector<std::vector<std::uint8_t>> payloads;  // of all that has arrived

 private:
  using Wrap = std::function<std::unique_ptr<FaultyWire>(std::unique_ptr<Wire>)>;
  Net(std::uint32_t slots, const Wrap& wrap)
      : fabric(LoopbackFabric::create({.slots = slots, .endpoints = 3})),
        sender(wrap(*fabric->attach())) {
    receivers.push_back(*fabric->attach());
    receivers.push_back(*fabric->attach());
  }
};

TEST(FaultyWire, WithoutFaultsIsTheWireInside) {
  Net net{Faults()};
  net.send(0, 100);
  std::vector<std::uint32_t> all(100);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(net.flushed(), all);
  EXPECT_EQ(net.counters().sent, 100u);
  EXPECT_EQ(net.sender->held(), 0u);
  EXPECT_EQ(net.sender->endpoint(), 0u);
  EXPECT_EQ(net.sender->mtu(), net.receivers[0]->mtu());
  EXPECT_EQ(net.sender->value_mtu(), net.receivers[0]->value_mtu());
  EXPECT_EQ(net.sender->psn_bytes(), net.receivers[0]->psn_bytes());
  EXPECT_EQ(net.sender->path(1).psn_window, FaultyWire::kMaxWindow);
  EXPECT_TRUE(net.sender->by_reference(plain(0)));
}

TEST(FaultyWire, DropsAPacket) {
  Net net(only(1, {.drops = true}));
  net.send(0, 3);
  EXPECT_THAT(net.flushed(), ElementsAre(0, 2));
  EXPECT_EQ(net.counters().dropped, 1u);
}

TEST(FaultyWire, RepeatsAPacketBehindItself) {
  Net net(only(1, {.repeats = 2}));
  net.send(0, 3);
  EXPECT_THAT(net.flushed(), ElementsAre(0, 1, 1, 1, 2));
  EXPECT_EQ(net.counters().repeated, 2u);
}

TEST(FaultyWire, LetsLaterPacketsGoFirst) {
  Net net(only(1, {.repeats = 1, .behind = 2}));
  net.send(0, 5);
  EXPECT_THAT(net.flushed(), ElementsAre(0, 2, 3, 1, 1, 4)) << "a copy stays with its packet";
  EXPECT_EQ(net.counters().reordered, 1u);
}

TEST(FaultyWire, HoldsNothingForEver) {
  Net net(only(1, {.behind = 1000}));
  net.send(0, 2);
  EXPECT_THAT(net.flushed(), ElementsAre(0));
  for (std::uint32_t i = 2; i < FaultyWire::kMaxFlushes; ++i) EXPECT_THAT(net.flushed(), IsEmpty());
  EXPECT_EQ(net.sender->held(), 1u);
  EXPECT_THAT(net.flushed(), ElementsAre(1));
  EXPECT_EQ(net.sender->held(), 0u);
}

TEST(FaultyWire, DelaysAPacketByItsTime) {
  Net net(new Told([](const Packet& packet) { return Fate{.delay_ns = packet.header.psn * 100}; }));
  for (const std::uint32_t psn : {3u, 0u, 2u, 1u}) ASSERT_TRUE(net.sender->send(plain(psn)));
  EXPECT_EQ(net.counters().delayed, 3u);
  EXPECT_THAT(net.flushed(), ElementsAre(0));
  net.now_ns += 99;
  EXPECT_THAT(net.flushed(), IsEmpty());
  net.now_ns += 101;
  EXPECT_THAT(net.flushed(), ElementsAre(1, 2));
  // A receiver that looks for packets lets them go, too.
  net.now_ns += 100;
  EXPECT_EQ(net.sender->receive(), nullptr);
  EXPECT_EQ(net.sender->held(), 0u);
  EXPECT_THAT(net.flushed(), ElementsAre(3));
}

TEST(FaultyWire, DelaysAPacketThatAlsoWaitsForOthers) {
  Net net(only(1, {.behind = 1, .delay_ns = 500}));
  net.send(1, 2);
  EXPECT_THAT(net.flushed(), ElementsAre(2));
  net.now_ns += 500;
  EXPECT_THAT(net.flushed(), ElementsAre(1));
}

TEST(FaultyWire, LosesWhatIsSentWhileTheLinkIsDown) {
  constexpr std::array<std::uint64_t, 5> kDelays = {0, 500, 0, 1000, 0};
  Net net(new Told(
      [&](const Packet& packet) { return Fate{.delay_ns = kDelays.at(packet.header.psn)}; }));
  net.send(0, 2);
  net.sender->set_link(false);
  net.send(2, 2);
  net.now_ns += 500;
  EXPECT_THAT(net.flushed(), ElementsAre(0)) << "1 would come now";
  net.sender->set_link(true);
  net.now_ns += 500;
  net.send(4, 1);
  EXPECT_THAT(net.flushed(), ElementsAre(4)) << "3 is not late but lost";
  EXPECT_EQ(net.counters().cut, 3u);
}

TEST(FaultyWire, GoesDownAtTheEndOfEachPeriod) {
  Net net(Faults{.down_every_ns = 1000, .down_for_ns = 200});
  for (std::uint32_t psn = 0; psn < 30; ++psn, net.now_ns += 100) net.send(psn, 1);
  EXPECT_THAT(net.flushed(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 20,
                                         21, 22, 23, 24, 25, 26, 27));
  EXPECT_EQ(net.counters().cut, 6u);
}

TEST(FaultyWire, CutsPartitionedEndpointsAlone) {
  Net net(Faults{.partitioned = {1}});
  net.send(0, 1, 1);
  net.send(1, 1, 2);
  net.sender->set_partitioned(1, false);
  net.sender->set_partitioned(2, true);
  net.send(2, 1, 1);
  net.send(3, 1, 2);
  EXPECT_THAT(net.flushed(), ElementsAre(2));
  EXPECT_THAT(net.arrived(2), ElementsAre(1));
  EXPECT_EQ(net.counters().cut, 2u);
}

TEST(FaultyWire, SpoilsAnswersAndPacketsToItself) {
  Net net(new Told([](const Packet&) { return Fate{.drops = true}; }));
  Packet answer = plain(0);
  answer.header.opcode = PacketOpcode::acknowledge;
  answer.header.aeth = {};
  ASSERT_TRUE(net.sender->send(answer));
  ASSERT_TRUE(net.sender->send(plain(1, 0)));
  EXPECT_THAT(net.flushed(), IsEmpty());
  EXPECT_EQ(net.sender->receive(), nullptr);
  EXPECT_EQ(net.counters().dropped, 2u);
}

TEST(FaultyWire, MarksWhatCanBeMarkedAndChangesNothingElse) {
  Net net(new Told([](const Packet&) { return Fate{.marks = true, .repeats = 1}; }));
  const std::uint8_t classes[] = {0, 0x68, 0x69, 0x6a, 0x6b},
                     come_as[] = {0, 0x68, 0x6b, 0x6b, 0x6b};
  for (std::uint32_t psn = 0; psn < 5; ++psn) {
    Packet packet = plain(psn);
    packet.header.traffic_class = classes[psn];
    ASSERT_TRUE(net.sender->send(packet));
    net.sender->flush();
    for (int copies = 0; copies < 2; ++copies) {
      const Packet* const came = net.receivers[0]->receive();
      ASSERT_NE(came, nullptr);
      EXPECT_EQ(came->header.psn, psn);
      EXPECT_EQ(came->header.traffic_class, come_as[psn]);
      net.receivers[0]->retire(came);
    }
  }
  EXPECT_EQ(net.counters().marked, 3u);
}

// Of an opcode, with everything that such a packet has.
Packet full(PacketOpcode opcode, std::uint32_t psn, std::vector<std::uint8_t>& payload) {
  Packet packet = plain(psn);
  packet.header.opcode = opcode;
  packet.header.service_level = 3;
  packet.header.traffic_class = 96;
  packet.header.destination_qpn = 0x123456;
  if (extension_of(opcode) == ExtensionKind::reth) packet.header.reth = {1 << 20, 7, 8};
  if (extension_of(opcode) == ExtensionKind::aeth) packet.header.aeth = {.msn = 9};
  if (opcode == PacketOpcode::atomic_request) packet.atomic = {};
  const bool has_payload = is_send(opcode) || is_write(opcode) || is_read_response(opcode);
  if (opcode == PacketOpcode::congestion_notification) payload.assign(sizeof kCnpPayload, 0);
  if (opcode > PacketOpcode::congestion_notification) packet.header.service = ServiceType::dc;
  const bool is_empty = !has_payload && opcode != PacketOpcode::congestion_notification;
  packet.header.payload_size = is_empty ? 0 : static_cast<std::uint32_t>(payload.size());
  packet.payload = payload.data();
  return packet;
}

// The ICRC leaves out one byte of each packet, from which nothing is read: what comes through is
// what was sent.
TEST(FaultyWire, NeverLetsAChangeOfAPacketThrough) {
  Net net(Faults{.corrupt = 1});
  constexpr std::uint32_t kRounds = 100;
  constexpr auto kOpcodes = static_cast<std::uint32_t>(PacketOpcode::count);
  std::uint64_t through = 0;
  for (std::uint32_t psn = 0; psn < kRounds * kOpcodes; ++psn) {
    const auto opcode = static_cast<PacketOpcode>(psn % kOpcodes);
    std::vector<std::uint8_t> payload(psn % 97, static_cast<std::uint8_t>(psn));
    const Packet sent = full(opcode, psn, payload);
    ASSERT_TRUE(net.sender->send(sent));
    net.sender->flush();
    const Packet* const came = net.receivers[0]->receive();
    if (came == nullptr) continue;
    ++through;
    EXPECT_EQ(came->header.psn, psn);
    EXPECT_EQ(came->header.opcode, opcode);
    EXPECT_EQ(came->header.destination_qpn, 0x123456u);
    EXPECT_EQ(came->header.service_level, 3);
    EXPECT_EQ(came->header.traffic_class, 96);
    ASSERT_EQ(came->header.payload_size, sent.header.payload_size);
    if (came->header.payload_size != 0) {
      EXPECT_EQ(std::memcmp(came->payload, payload.data(), payload.size()), 0);
    }
    net.receivers[0]->retire(came);
    net.receivers[0]->flush();
  }
  EXPECT_EQ(net.counters().corrupted + through, net.counters().sent);
  EXPECT_GT(through, 0u);
  EXPECT_LT(through, kRounds * kOpcodes / 50);
}

TEST(FaultyWire, LosesDamagedPacketsByReference) {
  Net net(Faults{.corrupt = 1});
  const std::uint64_t word = 1;
  Packet named = plain(0);
  named.header.payload_size = sizeof word;
  named.header.fragment_count = 1;
  named.fragments[0] = {host_address(&word), sizeof word, 10};
  ASSERT_TRUE(net.sender->send(named));
  EXPECT_THAT(net.flushed(), IsEmpty());
  EXPECT_EQ(net.counters().corrupted, 1u);
}

TEST(FaultyWire, KeepsThePayloadOfHeldPackets) {
  Net net(new Told([](const Packet& packet) {
    return packet.header.psn % 2 == 0 ? Fate{.repeats = 1, .behind = 3} : Fate{.delay_ns = 10};
  }));
  constexpr std::uint32_t kPackets = 20;
  for (std::uint32_t psn = 0; psn < kPackets; ++psn) {
    std::vector<std::uint8_t> payload(1 + 100 * psn, static_cast<std::uint8_t>(psn));
    Packet packet = plain(psn);
    packet.payload = payload.data();
    packet.header.payload_size = static_cast<std::uint32_t>(payload.size());
    ASSERT_TRUE(net.sender->send(packet));
    std::fill(payload.begin(), payload.end(), std::uint8_t{0xee});
  }
  net.now_ns += 10;
  std::vector<std::uint32_t> psns;
  for (std::uint32_t i = 0; i < FaultyWire::kMaxFlushes; ++i) {
    for (const std::uint32_t psn : net.flushed()) psns.push_back(psn);
  }
  ASSERT_EQ(psns.size(), kPackets * 3 / 2);
  for (std::size_t i = 0; i < psns.size(); ++i) {
    EXPECT_EQ(net.payloads[i],
              std::vector<std::uint8_t>(1 + 100 * psns[i], static_cast<std::uint8_t>(psns[i])));
  }
}

TEST(FaultyWire, DecidesOnceHoweverOftenAPacketIsTried) {
  int asked = 0;
  Net net(new Told([&](const Packet&) {
            ++asked;
            return Fate();
          }),
          /*slots=*/1);
  net.send(0, 2);
  EXPECT_EQ(net.sender->held(), 1u) << "the inner wire has room for one";
  for (int tries = 0; tries < 1000; ++tries) EXPECT_FALSE(net.sender->send(plain(2)));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(net.counters().sent, 2u);
  net.send(3, 1, 2);
  EXPECT_THAT(net.flushed(), ElementsAre(0));
  EXPECT_THAT(net.arrived(2), ElementsAre(3)) << "a full way holds up no other";
  net.send(2, 1);
  EXPECT_THAT(net.flushed(), ElementsAre(1));
  EXPECT_THAT(net.flushed(), ElementsAre(2));
  EXPECT_EQ(asked, 4);
}

TEST(FaultyWire, KeepsTheOrderBeforeAFullWire) {
  Net net(new Told([](const Packet& packet) { return Fate{.repeats = packet.header.psn % 3}; }),
          /*slots=*/1);
  std::vector<std::uint32_t> psns;
  for (std::uint32_t psn = 0; psn < 6;) {
    if (net.sender->send(plain(psn))) ++psn;
    for (const std::uint32_t came : net.flushed()) psns.push_back(came);
  }
  for (int i = 0; i < 3; ++i) {
    for (const std::uint32_t came : net.flushed()) psns.push_back(came);
  }
  EXPECT_THAT(psns, ElementsAre(0, 1, 1, 2, 2, 2, 3, 4, 4, 5, 5, 5));
}

TEST(FaultyWire, CountsWhatItHoldsRight) {
  Net net(only(0, {.behind = 1000}), /*slots=*/1);
  const std::uint64_t word = 1;
  Packet named = plain(0);
  named.header.payload_size = sizeof word;
  named.header.fragment_count = 1;
  named.fragments[0] = {host_address(&word), sizeof word, 10};
  // More than it may hold at once: some are recalled, others go through the backlog.
  for (std::uint32_t i = 0; i < 2 * FaultyWire::kMaxHeld; ++i) {
    ASSERT_TRUE(net.sender->send(named));
    static_cast<void>(net.sender->recall({.key = 10}));
    net.send(1, 2);
    EXPECT_EQ(net.sender->held(), 1u);
    ASSERT_THAT(net.flushed(), ElementsAre(1));
    ASSERT_THAT(net.flushed(), ElementsAre(2));
  }
}

TEST(FaultyWire, HoldsABoundedNumberToAnEndpoint) {
  Net net(new Told([](const Packet&) { return Fate{.delay_ns = 10}; }), /*slots=*/2048);
  net.send(0, FaultyWire::kMaxHeld);
  EXPECT_FALSE(net.sender->send(plain(FaultyWire::kMaxHeld)));
  net.send(0, 1, 2);
  EXPECT_EQ(net.counters().sent, FaultyWire::kMaxHeld + 1);
  net.now_ns += 10;
  EXPECT_EQ(net.flushed().size(), FaultyWire::kMaxHeld);
  net.send(FaultyWire::kMaxHeld, 1);
}

TEST(FaultyWire, ForgetsWhatItHoldsOfRecalledMemory) {
  constexpr std::array<Fate, 3> kFates = {
      {{.behind = 100}, {.delay_ns = 100}, {.behind = 100, .delay_ns = 100}}};
  Net net(new Told([&](const Packet& packet) { return kFates[packet.header.psn % 3]; }));
  const std::uint64_t word = 1;
  for (const std::uint32_t number : {1u, 2u, 3u, 4u, 5u, 6u}) {
    Packet named = plain(number);
    named.sender = number % 2;
    named.header.payload_size = sizeof word;
    named.header.fragment_count = 1;
    named.fragments[0] = {host_address(&word), sizeof word, number == 6 ? 20 : 10 * number};
    if (number == 6) named.header.opcode = PacketOpcode::read_response_only;
    ASSERT_TRUE(net.sender->send(named));
  }
  net.send(7, 1);
  const auto taken = [&](const RecallScope& scope) {
    std::vector<std::pair<QpNumber, std::uint32_t>> all;
    for (const auto& one : net.sender->recall(scope).taken) all.emplace_back(one.sender, one.psn);
    return all;
  };
  using Taken = std::pair<QpNumber, std::uint32_t>;
  EXPECT_THAT(taken({.key = 20}), ElementsAre(Taken(0, 2))) << "and an answer";
  EXPECT_EQ(net.sender->held(), 5u);
  EXPECT_THAT(taken({.requester = 1}), ElementsAre(Taken(1, 1), Taken(1, 3), Taken(1, 5)));
  EXPECT_THAT(taken({.everything = true}), ElementsAre(Taken(0, 4)));
  net.now_ns += 100;
  EXPECT_THAT(net.flushed(), ElementsAre(7));
  for (std::uint32_t i = 0; i < FaultyWire::kMaxFlushes; ++i) EXPECT_THAT(net.flushed(), IsEmpty());
}

TEST(FaultyWire, RecallsItsBacklog) {
  Net net(new Told([](const Packet&) { return Fate(); }), /*slots=*/1);
  const std::uint64_t word = 1;
  for (const std::uint32_t psn : {0u, 1u}) {
    Packet named = plain(psn);
    named.header.payload_size = sizeof word;
    named.header.fragment_count = 1;
    named.fragments[0] = {host_address(&word), sizeof word, 10};
    ASSERT_TRUE(net.sender->send(named));
  }
  Recall recall = net.sender->recall({.key = 10});
  ASSERT_EQ(recall.taken.size(), 2u);
  EXPECT_EQ(recall.taken[0].psn, 0u);
  EXPECT_EQ(recall.taken[1].psn, 1u);
  EXPECT_TRUE(net.sender->recalled(recall));
  EXPECT_EQ(net.sender->held(), 0u);
  EXPECT_THAT(net.flushed(), IsEmpty());
}

TEST(FaultyWire, DoesNotCallHeldPacketsUnread) {
  Net net(only(0, {.delay_ns = 10}));
  net.send(0, 1);
  net.sender->flush();
  EXPECT_FALSE(net.sender->unread(1));
  net.now_ns += 10;
  net.sender->flush();
  EXPECT_TRUE(net.sender->unread(1));
  EXPECT_THAT(net.arrived(), ElementsAre(0));
  EXPECT_FALSE(net.sender->unread(1));
}

TEST(FaultyWire, DeliversWhatItHoldsWhenItIsDestroyed) {
  Net net(new Told([](const Packet& packet) {
    return packet.header.psn == 0 ? Fate{.behind = 9} : Fate{.delay_ns = 1'000'000};
  }));
  net.send(0, 2);
  net.sender.reset();
  EXPECT_THAT(net.arrived(), ElementsAre(0, 1));
}

TEST(FaultyWire, HasTheRatesThatWereAskedFor) {
  Net net(Faults{.seed = 3, .drop = 0.02, .repeat = 0.01, .reorder = 0.05, .corrupt = 0.01});
  std::uint64_t came = 0, overtaken = 0;
  std::uint32_t newest = 0;
  const auto look = [&] {
    for (const std::uint32_t psn : net.flushed()) {
      ++came;
      overtaken += psn < newest ? 1 : 0;
      newest = std::max(newest, psn);
    }
  };
  constexpr std::uint32_t kPackets = 100'000;
  for (std::uint32_t psn = 0; psn < kPackets; psn += 50) {
    net.send(psn, 50);
    look();
  }
  for (std::uint32_t i = 0; i < FaultyWire::kMaxFlushes; ++i) look();
  const FaultCounters& counters = net.counters();
  EXPECT_EQ(counters.sent, kPackets);
  EXPECT_EQ(came, kPackets - counters.dropped - counters.corrupted + counters.repeated);
  EXPECT_NEAR(static_cast<double>(counters.dropped), 2000, 250);
  EXPECT_NEAR(static_cast<double>(counters.repeated), 970, 160);
  EXPECT_NEAR(static_cast<double>(counters.reordered), 4850, 350);
  EXPECT_NEAR(static_cast<double>(counters.corrupted), 970, 160);
  EXPECT_NEAR(static_cast<double>(overtaken), 4850, 400);
}

TEST(FaultyWire, GivesEachEndpointOtherFates) {
  const auto fabric = LoopbackFabric::create({.endpoints = 2});
  const Faults faults = {.drop = 0.5};
  auto a = make_faulty(*fabric->attach(), faults), b = make_faulty(*fabric->attach(), faults);
  std::uint32_t equal = 0;
  for (std::uint32_t psn = 0; psn < 200; ++psn) {
    const auto dropped = a->counters().dropped, other = b->counters().dropped;
    ASSERT_TRUE(a->send(plain(psn, 1)) && b->send(plain(psn, 0)));
    equal += a->counters().dropped - dropped == b->counters().dropped - other ? 1 : 0;
  }
  EXPECT_GT(equal, 60u);
  EXPECT_LT(equal, 140u);
}

}  // namespace
}  // namespace gdakit::softnic::test
