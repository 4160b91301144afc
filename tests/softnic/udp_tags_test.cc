// Tags of packets over UDP: who has the job's key is heard, and what it sent is as it was sent.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <sys/socket.h>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/wire/packet_tag.h"
#include "tests/softnic/udp_rig.h"
#include "tests/softnic/udp_sender.h"
#include "tests/softnic/udp_wires.h"

namespace gdakit::softnic {
namespace {

using namespace std::chrono_literals;
using test::encoded;
using test::EngineRig;
using test::Sender;
using test::Two;
using test::UdpRig;

TagKey key_from(std::uint8_t first) {
  TagKey key;
  std::iota(key.begin(), key.end(), first);
  return key;
}
const TagKey kKey = key_from(0);

// With the tag that it has on its way from there to there.
std::vector<std::uint8_t> tagged(std::vector<std::uint8_t> packet, const UdpAddress& from,
                                 const UdpAddress& to, const TagKey& key = kKey) {
  const Tag tag = PacketTags(key, way_between(from, to)).of(packet);
  packet.insert(packet.end(), tag.begin(), tag.end());
  return packet;
}

// A wire with tags, and a socket that is its endpoint 1.
struct Tagged {
  Tagged() {
    packet.opcode = 0x04;
    packet.payload = payload;
    EXPECT_TRUE(wire->connect(1, sender.address()));
  }

  const UdpAddress& here() const { return wire->address(); }
  const UdpAddress& there() const { return sender.address(); }
  std::vector<std::uint8_t> bare() const { return encoded(packet, there(), here()); }
  std::vector<std::uint8_t> right() const { return tagged(bare(), there(), here()); }
  void send(const std::vector<std::uint8_t>& bytes) { sender.send(here(), bytes); }

  void expect_untrue(std::uint64_t count) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (wire->counters().untrue < count && std::chrono::steady_clock::now() < end) {
      ASSERT_EQ(wire->receive(), nullptr);
    }
    ASSERT_EQ(wire->counters().untrue, count);
    NicCounters counted;
    wire->add_counters(counted);
    EXPECT_EQ(counted.udp_untrue_tags, count);
    EXPECT_EQ(wire->counters().damaged, decltype(UdpCounters::damaged){});
  }
  // The wire still hears what is right.
  void expect_right_one_passes() {
    packet.psn = 99;
    send(right());
    const auto end = std::chrono::steady_clock::now() + 20s;
    const Packet* got = nullptr;
    while (got == nullptr && std::chrono::steady_clock::now() < end) got = wire->receive();
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->header.psn, 99u);
  }

  std::vector<std::uint8_t> payload = std::vector<std::uint8_t>(64, 7);
  roce::RocePacket packet;
  std::unique_ptr<UdpWire> wire = test::wire_at("127.0.0.1:0", {.tag_key = kKey});
  Sender sender;
};

// By another implementation of BLAKE2b.
TEST(UdpTags, AreKeyedBlake2bOverAddressesPortsAndThePacket) {
  std::vector<std::uint8_t> packet(40);
  std::iota(packet.begin(), packet.end(), std::uint8_t{0});
  const roce::UdpWay way =
      way_between(*UdpAddress::parse("10.0.0.1:4791"), *UdpAddress::parse("10.0.0.2:4792"));
  const Tag right = {0x1a, 0x88, 0x84, 0x7b, 0x31, 0x81, 0xd1, 0x1c,
                     0x8f, 0x46, 0xfc, 0x91, 0xed, 0x20, 0xe8, 0x41};
  EXPECT_EQ(PacketTags(kKey, way).of(packet), right);
}

// In trains, too: a long WRITE's packets but for the last have one size.
TEST(UdpTags, RightPacketsPass) {
  for (const char* address : {"127.0.0.1:0", "[::1]:0"}) {
    UdpRig udp({.a = address, .b = address, .mtu = 1024, .tag_key = kKey});
    EngineRig& rig = udp.rig;
    constexpr std::size_t kBytes = 100'003;
    std::iota(rig.a.heap.data(), rig.a.heap.data() + kBytes, std::uint8_t{1});
    udp.expect_success(test::write_wqe(rig, 128, 0, kBytes));
    EXPECT_TRUE(std::equal(rig.a.heap.data(), rig.a.heap.data() + kBytes, rig.b.heap.data() + 128));
    udp.expect_success(test::read_wqe(rig, 300'000, 128, kBytes));
    EXPECT_TRUE(
        std::equal(rig.a.heap.data(), rig.a.heap.data() + kBytes, rig.a.heap.data() + 300'000));
    EXPECT_TRUE(udp.at(0).sends_trains());
    EXPECT_GT(udp.at(1).counters().received, kBytes / 1024);
    for (const int side : {0, 1}) {
      EXPECT_EQ(udp.at(side).counters().untrue, 0u);
      EXPECT_EQ(udp.at(side).counters().unsendable, 0u);
    }
  }
}

// What the wire sends is the packet as it is without tags, and its tag.
TEST(UdpTags, StandBehindThePacket) {
  const std::unique_ptr<UdpWire> wire = test::wire_at("127.0.0.1:0", {.tag_key = kKey});
  const Result<UdpSocket> socket = UdpSocket::open(*UdpAddress::parse("127.0.0.1:0"));
  ASSERT_TRUE(socket && wire->connect(1, socket->address()));
  Packet packet;
  packet.header.destination = 1;
  packet.header.opcode = PacketOpcode::acknowledge;
  packet.header.psn = 5;
  packet.header.aeth = {};
  ASSERT_TRUE(wire->send(packet));
  wire->flush();
  std::vector<std::uint8_t> bytes(1000);
  ssize_t size = -1;
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (size < 0 && std::chrono::steady_clock::now() < end) {
    size = ::recv(socket->get(), bytes.data(), bytes.size(), 0);
  }
  ASSERT_GT(size, 0);
  bytes.resize(static_cast<std::size_t>(size));
  const std::vector<std::uint8_t> expected =
      encoded(roce::to_roce(packet), wire->address(), socket->address());
  EXPECT_EQ(bytes, tagged(expected, wire->address(), socket->address()));
}

TEST(UdpTags, AFlippedBitAnywhereInTheDatagramIsFound) {
  Tagged tagged;
  const std::vector<std::uint8_t> right = tagged.right();
  std::uint64_t sent = 0;
  for (std::size_t bit = 0; bit < right.size() * 8 && !HasFailure(); ++bit) {
    std::vector<std::uint8_t> wrong = right;
    wrong[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    tagged.send(wrong);
    if (++sent % 64 == 0) tagged.expect_untrue(sent);  // the socket's buffer is finite
  }
  tagged.expect_untrue(sent);
  tagged.expect_right_one_passes();
}

TEST(UdpTags, AMissingTagIsFound) {
  Tagged tagged;
  const std::vector<std::uint8_t> right = tagged.right();
  tagged.send(tagged.bare());
  tagged.expect_untrue(1);
  for (std::size_t size = 1; size < right.size() && !HasFailure(); ++size) {
    tagged.send({right.begin(), right.begin() + static_cast<std::ptrdiff_t>(size)});
    tagged.expect_untrue(1 + size);
  }
  tagged.expect_right_one_passes();
}

TEST(UdpTags, ATagByAnotherKeyIsFound) {
  Tagged tagged;
  TagKey other = kKey;
  other.back() ^= 1;
  tagged.send(softnic::tagged(tagged.bare(), tagged.there(), tagged.here(), other));
  tagged.expect_untrue(1);
  tagged.expect_right_one_passes();
}

// The invariant CRC is right for where the packet goes now, as whoever sends it on makes it.
TEST(UdpTags, APacketThatIsSentOnOrBackIsFound) {
  Tagged tagged;
  Sender elsewhere("127.0.0.2:0");
  const auto send = [&](const UdpAddress& from, const UdpAddress& to) {
    const Tag tag = PacketTags(kKey, way_between(from, to)).of(tagged.bare());
    std::vector<std::uint8_t> bytes = tagged.bare();
    bytes.insert(bytes.end(), tag.begin(), tag.end());
    tagged.send(bytes);
  };
  send(tagged.there(), elsewhere.address());  // it was for another receiver
  send(elsewhere.address(), tagged.here());   // it was from another sender
  send(tagged.here(), tagged.there());        // it was this wire's own
  UdpAddress port = tagged.there();
  ++port.port;
  send(port, tagged.here());
  tagged.expect_untrue(4);
  tagged.expect_right_one_passes();
}

TEST(UdpTags, ARightPacketFromAnotherAddressIsAStrangers) {
  Tagged tagged;
  Sender stranger;
  stranger.send(tagged.here(), tagged.right());
  const UdpCounters& counters = tagged.wire->counters();
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (counters.strangers == 0 && std::chrono::steady_clock::now() < end) {
    EXPECT_EQ(tagged.wire->receive(), nullptr);
  }
  EXPECT_EQ(counters.strangers, 1u);
  ASSERT_TRUE(tagged.wire->connect(2, stranger.address()));
  stranger.send(tagged.here(), tagged.right());
  tagged.expect_untrue(1);
  tagged.expect_right_one_passes();
}

TEST(UdpTags, AWireWithoutAKeyTakesNoTaggedPacket) {
  Two two;
  Sender sender;
  ASSERT_TRUE(two.wire->connect(1, sender.address()));
  roce::RocePacket packet;
  packet.opcode = 0x04;
  const std::vector<std::uint8_t> bare = encoded(packet, sender.address(), two.wire->address());
  sender.send(two.wire->address(), tagged(bare, sender.address(), two.wire->address()));
  two.drop_until(two.wire->counters().damaged[static_cast<std::size_t>(roce::Damage::icrc)], 1);
}

}  // namespace
}  // namespace gdakit::softnic
