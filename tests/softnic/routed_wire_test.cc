// The wire of a NIC with near and far peers.
#include "backends/softnic/wire/routed_wire.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "backends/softnic/wire/plain_wire.h"
#include "backends/softnic/wire/shm_wire.h"
#include "tests/softnic/udp_wires.h"

namespace gdakit::softnic {
namespace {

using test::wire_at;
using testing::ElementsAre;
using testing::IsEmpty;

// A wire that notes what it is asked for, and brings what it is given.
class NotingWire final : public PlainWire {
 public:
  struct Notes {
    bool has_room = true;
    std::vector<std::uint32_t> sent;  // PSNs
    std::deque<Packet> incoming;
    std::vector<std::uint32_t> retired;  // PSNs
    int looks = 0;
    std::vector<Endpoint> unread_asked;
  };

  explicit NotingWire(Notes& notes, WirePath path, std::uint32_t value_mtu)
      : notes_(notes), path_(path), value_mtu_(value_mtu) {}

  Endpoint endpoint() const override { return 0; }
  std::uint32_t mtu() const override { return path_.mtu; }
  std::uint32_t value_mtu() const override { return value_mtu_; }
  WirePath path(Endpoint) const override { return path_; }
  bool by_reference(const Packet&) const override { return !path_.over_udp; }
  bool send(const Packet& packet) override {
    if (notes_.has_room) notes_.sent.push_back(packet.header.psn);
    return notes_.has_room;
  }
  const Packet* receive() override {
    ++notes_.looks;
    if (notes_.incoming.empty()) return nullptr;
    held_.push_back(notes_.incoming.front());
    notes_.incoming.pop_front();
    return &held_.back();
  }
  void retire(const Packet* packet) override { notes_.retired.push_back(packet->header.psn); }
  void flush() override {}
  void add_counters(NicCounters& counters) const override {
    counters.udp_strangers += path_.over_udp ? 1 : 100;
  }
  bool unread(Endpoint endpoint) const override {
    notes_.unread_asked.push_back(endpoint);
    return true;
  }

 private:
  Notes& notes_;
  const WirePath path_;
  const std::uint32_t value_mtu_;
  std::deque<Packet> held_;
};

constexpr std::uint32_t kNearMtu = 65536;
constexpr WirePath kNearPath = {.mtu = kNearMtu, .loses_packets = false};
constexpr WirePath kFarPath = {
    .mtu = 1024, .psn_window = 128, .small_psn_window = 1024, .over_udp = true};

// Endpoint 0's wire: 2 is near, 1 and 3 are far.
struct Noted {
  std::uint64_t now_ns = 1'000'000;
  NotingWire::Notes near, far;
  RoutedWire wire{std::make_unique<NotingWire>(near, kNearPath, 4096),
                  std::make_unique<NotingWire>(far, kFarPath, 1024),
                  {true, false, true, false},
                  [this] { return now_ns; }};

  bool send(Endpoint to, std::uint32_t psn) {
    Packet packet;
    packet.header.destination = to;
    packet.header.psn = psn;
    return wire.send(packet);
  }
  static void arrive(NotingWire::Notes& at, Endpoint from, std::uint32_t psn) {
    at.incoming.emplace_back();
    at.incoming.back().header.source = from;
    at.incoming.back().header.psn = psn;
  }
  // The PSN of what the next look finds.
  std::optional<std::uint32_t> next() {
    const Packet* const packet = wire.receive();
    if (packet == nullptr) return {};
    const std::uint32_t psn = packet->header.psn;
    wire.retire(packet);
    return psn;
  }
};

TEST(RoutedWire, SendsByTheWireOfTheDestination) {
  Noted noted;
  EXPECT_TRUE(noted.send(0, 10));
  EXPECT_TRUE(noted.send(1, 11));
  EXPECT_TRUE(noted.send(2, 12));
  EXPECT_TRUE(noted.send(3, 13));
  EXPECT_TRUE(noted.send(4, 14));  // nobody
  EXPECT_THAT(noted.near.sent, ElementsAre(10, 12));
  EXPECT_THAT(noted.far.sent, ElementsAre(11, 13, 14));
}

TEST(RoutedWire, AWireWithoutRoomRefusesItsOwnPacketsAlone) {
  Noted noted;
  noted.near.has_room = false;
  EXPECT_FALSE(noted.send(2, 1));
  EXPECT_TRUE(noted.send(1, 2));
  noted.near.has_room = true;
  noted.far.has_room = false;
  EXPECT_TRUE(noted.send(2, 3));
  EXPECT_FALSE(noted.send(1, 4));
  EXPECT_THAT(noted.near.sent, ElementsAre(3));
  EXPECT_THAT(noted.far.sent, ElementsAre(2));
}

TEST(RoutedWire, CountsWhatBothWiresCount) {
  const Noted noted;
  NicCounters counters;
  noted.wire.add_counters(counters);
  EXPECT_EQ(counters.udp_strangers, 101);
}

TEST(RoutedWire, RetiresWhereAPacketCameFrom) {
  Noted noted;
  Noted::arrive(noted.near, 2, 1);
  Noted::arrive(noted.far, 1, 2);
  Noted::arrive(noted.far, 3, 3);
  int received = 0;
  for (int look = 0; look < 20; ++look) received += noted.next() ? 1 : 0;
  EXPECT_EQ(received, 3);
  EXPECT_THAT(noted.near.retired, ElementsAre(1));
  EXPECT_THAT(noted.far.retired, ElementsAre(2, 3));
}

TEST(RoutedWire, ReceivesInTurnsWhereBothHavePackets) {
  Noted noted;
  for (std::uint32_t psn = 0; psn < 100; ++psn) {
    Noted::arrive(noted.near, 2, psn);
    Noted::arrive(noted.far, 1, 1000 + psn);
  }
  int near = 0;
  for (int look = 0; look < 100; ++look) {
    const auto psn = noted.next();
    ASSERT_TRUE(psn);
    near += *psn < 1000 ? 1 : 0;
  }
  EXPECT_EQ(near, 50);
}

// A flood from near keeps a far packet waiting for no longer than a network counts as quiet.
TEST(RoutedWire, LooksAtAQuietNetworkNowAndThen) {
  Noted noted;
  const auto finds_far = [&noted](int looks) {
    bool found = false;
    for (int look = 0; look < looks; ++look) {
      Noted::arrive(noted.near, 2, 1);
      const auto psn = noted.next();
      found = found || psn == 1000u;
    }
    return found;
  };
  EXPECT_FALSE(finds_far(100));
  EXPECT_EQ(noted.far.looks, 1);
  Noted::arrive(noted.far, 1, 1000);
  EXPECT_FALSE(finds_far(100));
  noted.now_ns += RoutedWire::kQuietNs;
  EXPECT_TRUE(finds_far(2));
}

TEST(RoutedWire, WhoSleepsBetweenLooksLeavesNoneOut) {
  Noted noted;
  for (int look = 1; look <= 10; ++look) {
    EXPECT_FALSE(noted.next());
    EXPECT_EQ(noted.far.looks, look);
    noted.now_ns += RoutedWire::kQuietNs;
  }
}

TEST(RoutedWire, DropsWhatANetworkBringsFromTheNear) {
  Noted noted;
  Noted::arrive(noted.far, 2, 1);
  Noted::arrive(noted.far, 0, 2);
  Noted::arrive(noted.far, 1, 3);
  std::vector<std::uint32_t> received;
  for (int look = 0; look < 20; ++look) {
    if (const auto psn = noted.next()) received.push_back(*psn);
    noted.now_ns += RoutedWire::kQuietNs;
  }
  EXPECT_THAT(received, ElementsAre(3));
  EXPECT_THAT(noted.far.retired, ElementsAre(1, 2, 3));
  EXPECT_THAT(noted.near.retired, IsEmpty());
}

TEST(RoutedWire, AWayIsThatOfItsOwnWire) {
  Noted noted;
  const RoutedWire& wire = noted.wire;
  EXPECT_EQ(wire.path(2).mtu, kNearMtu);
  EXPECT_EQ(wire.path(2).psn_window, kMaxPsnWindow);
  EXPECT_FALSE(wire.path(2).loses_packets || wire.path(2).over_udp);
  EXPECT_EQ(wire.path(1).mtu, 1024u);
  EXPECT_EQ(wire.path(1).psn_window, 128u);
  EXPECT_EQ(wire.path(1).small_psn_window, 1024u);
  EXPECT_TRUE(wire.path(1).loses_packets && wire.path(1).over_udp);
}

TEST(RoutedWire, APacketByValueIsAsLongAsBothCarryIt) {
  const Noted noted;
  EXPECT_EQ(noted.wire.mtu(), kNearMtu);
  EXPECT_EQ(noted.wire.value_mtu(), 1024u);
  EXPECT_EQ(noted.wire.psn_bytes(), 1024u);
}

TEST(RoutedWire, OnlyTheNearAreNamedMemory) {
  const Noted noted;
  Packet packet;
  packet.header.fragment_count = 1;
  packet.header.destination = 2;
  EXPECT_TRUE(noted.wire.by_reference(packet));
  packet.header.destination = 1;
  EXPECT_FALSE(noted.wire.by_reference(packet));
}

TEST(RoutedWire, AsksTheWireOfThePeerForWhatIsUnread) {
  Noted noted;
  EXPECT_TRUE(noted.wire.unread(2));
  EXPECT_TRUE(noted.wire.unread(1));
  EXPECT_THAT(noted.near.unread_asked, ElementsAre(2));
  EXPECT_THAT(noted.far.unread_asked, ElementsAre(1));
}

// Endpoints 0 and 3 share memory, 2 is elsewhere.
struct Job {
  Job() {
    const std::vector<Endpoint> near = {0, 3};
    const auto segment = *ShmSegment::create({.endpoints = 2});
    for (const Endpoint number : {0u, 2u, 3u}) {
      udp[number] = made[number].get();
      for (const Endpoint other : {0u, 2u, 3u}) {
        if (number != 2 && other != 2) continue;
        EXPECT_TRUE(made[number]->connect(other, made[other]->address()));
      }
    }
    wires[2] = std::move(made[2]);
    for (const Endpoint place : {0u, 1u}) {
      const Endpoint number = near[place];
      wires[number] = std::make_unique<RoutedWire>(
          std::move(*segment->attach(place, nullptr, near)), std::move(made[number]),
          std::vector<bool>{true, false, false, true});
    }
  }

  void send(Endpoint from, Endpoint to, std::uint32_t psn) {
    Packet packet;
    packet.header.destination = to;
    packet.header.opcode = PacketOpcode::acknowledge;
    packet.header.psn = psn;
    packet.header.aeth = {};
    EXPECT_TRUE(wires[from]->send(packet));
    wires[from]->flush();
  }
  // The sender of the next packet at the endpoint, which is this one.
  void expect(Endpoint at, Endpoint from, std::uint32_t psn) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const Packet* packet = nullptr;
    while (packet == nullptr && std::chrono::steady_clock::now() < end) {
      packet = wires[at]->receive();
    }
    ASSERT_NE(packet, nullptr);
    EXPECT_EQ(packet->header.source, from);
    EXPECT_EQ(packet->header.destination, at);
    EXPECT_EQ(packet->header.psn, psn);
    wires[at]->retire(packet);
    wires[at]->flush();
  }

  std::array<std::unique_ptr<UdpWire>, 4> made = {wire_at("127.0.0.1:0", {.endpoint = 0}), nullptr,
                                                  wire_at("127.0.0.1:0", {.endpoint = 2}),
                                                  wire_at("127.0.0.1:0", {.endpoint = 3})};
  std::array<UdpWire*, 4> udp = {};
  std::array<std::unique_ptr<Wire>, 4> wires;
};

TEST(RoutedWire, NearPacketsDoNotTouchTheNetwork) {
  Job job;
  for (const auto& [from, to] : {std::pair{0u, 3u}, {3u, 0u}, {0u, 0u}, {3u, 3u}}) {
    job.send(from, to, 10 * from + to);
    job.expect(to, from, 10 * from + to);
  }
  EXPECT_EQ(job.udp[0]->counters().sent + job.udp[3]->counters().sent, 0u);
  EXPECT_EQ(job.udp[0]->counters().received + job.udp[3]->counters().received, 0u);
}

TEST(RoutedWire, FarPacketsGoBothWaysOverTheNetwork) {
  Job job;
  for (const auto& [from, to] : {std::pair{0u, 2u}, {2u, 0u}, {3u, 2u}, {2u, 3u}}) {
    job.send(from, to, 10 * from + to);
    job.expect(to, from, 10 * from + to);
  }
  EXPECT_EQ(job.udp[2]->counters().sent, 2u);
  EXPECT_EQ(job.udp[2]->counters().received, 2u);
  EXPECT_EQ(job.udp[0]->counters().sent, 1u);
  EXPECT_EQ(job.udp[3]->counters().sent, 1u);
}

}  // namespace
}  // namespace gdakit::softnic
