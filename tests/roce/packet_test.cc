// RoCEv2 packets: frames that others have recorded, every opcode, and every kind of damage.
#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/wire/roce_packet.h"
#include "backends/softnic/wire/roce_translate.h"
#include "core/base/bits.h"
#include "tests/roce/packets.h"

namespace gdakit::softnic::roce {
namespace {

using test::Bytes;
using test::encoded;
using test::full_packet;
using test::some_way;

Bytes from_hex(std::string_view text) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(
        static_cast<std::uint8_t>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

constexpr std::size_t kEthernetBytes = 14, kIpv4Bytes = 20, kIpv6Bytes = 40, kUdpBytes = 8;

std::uint16_t word_at(const Bytes& bytes, std::size_t at) {
  return static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

// A frame of Ethernet without its check sequence: how it went, and what UDP delivers of it.
struct Recorded {
  UdpWay way;
  Bytes datagram;
};

Recorded recorded(std::string_view hex) {
  const Bytes frame = from_hex(hex);
  Recorded result;
  UdpWay& way = result.way;
  const std::size_t ip = kEthernetBytes;
  const bool is_v6 = frame[ip] >> 4 == 6;
  const std::size_t udp = ip + (is_v6 ? kIpv6Bytes : kIpv4Bytes);
  const std::size_t bytes = is_v6 ? 16 : 4;
  way.source.is_v6 = way.destination.is_v6 = is_v6;
  std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(udp - 2 * bytes), bytes,
              way.source.bytes.begin());
  std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(udp - bytes), bytes,
              way.destination.bytes.begin());
  way.source_port = word_at(frame, udp);
  way.destination_port = word_at(frame, udp + 2);
  if (!is_v6) {
    way.identification = word_at(frame, ip + 4);
    way.fragment = word_at(frame, ip + 6);
  }
  result.datagram.assign(frame.begin() + static_cast<std::ptrdiff_t>(udp + kUdpBytes), frame.end());
  return result;
}

// The frames of secdev/scapy, test/contrib/roce.uts: the first from a ConnectX-4 Lx.
constexpr std::string_view kCnp =
    "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201"
    "000012b7002800008100ffff4000011800000000000000000000000000000000"
    "0000000082fd002a";
constexpr std::string_view kSendOverIpv4 =
    "248a07a8fa22248a07a8fa22080045010040047840004011b4d5c0a80007c0a80007"
    "c00012b7002caca22460ffff000000d300cf17104630818be28935d90e9a95505401"
    "be885e50000078f353f3";
constexpr std::string_view kSendOverIpv6 =
    "248a07a8fa22248a07a8fa2286dd6e21face002c11ff20220000000000000000000000"
    "00102320230000000000000000000000001024c00012b7002ce7c52460ffff000000d3"
    "00cf17104630818be28935d90e9a95505401be885e5000003e5b743b";
// RoCEv1: behind a GRH.
constexpr std::string_view kWriteBehindGrh =
    "7cfe90753cd87cfe90753cd889156020000000281b4000000000000000000000ffff"
    "0f00000200000000000000000000ffff0f0000020a70ffff0000010a80a788bc0000"
    "55d4c0726000000047b3000000050000000001000000e3d856bb";
constexpr std::string_view kAckBehindGrh =
    "7cfe90753cd87cfe90753cd889156020000000141b4000000000000000000000ffff"
    "0f00000200000000000000000000ffff0f0000021140ffff0000010900a788c00000"
    "000525f0c038";

TEST(RoceRecorded, FramesAreUnderstoodAndMadeAgain) {
  for (const std::string_view hex : {kCnp, kSendOverIpv4, kSendOverIpv6}) {
    const Recorded frame = recorded(hex);
    RocePacket packet;
    ASSERT_EQ(decode(frame.datagram, frame.way, packet), Damage::none) << hex;
    EXPECT_EQ(encoded(packet, frame.way), frame.datagram) << hex;
  }
}

// To the last bit, as the one that a ConnectX has sent.
TEST(RoceRecorded, TheTransportsCnpIsConnectXs) {
  const Recorded frame = recorded(kCnp);
  Packet cnp;
  cnp.header.opcode = PacketOpcode::congestion_notification;
  cnp.header.destination_qpn = 0x118;
  cnp.header.payload_size = sizeof kCnpPayload;
  cnp.payload = kCnpPayload;
  EXPECT_EQ(encoded(to_roce(cnp), frame.way), frame.datagram);
}

TEST(RoceRecorded, TheirFieldsAreWhatTheyAreSaidToBe) {
  RocePacket packet;
  const Recorded cnp = recorded(kCnp);
  ASSERT_EQ(decode(cnp.datagram, cnp.way, packet), Damage::none);
  EXPECT_EQ(packet.opcode, kCnpOpcode);
  EXPECT_TRUE(packet.becn);
  EXPECT_FALSE(packet.fecn);
  EXPECT_EQ(packet.destination_qpn, 0x118u);
  EXPECT_EQ(packet.payload.size(), 16u);
  const Recorded send = recorded(kSendOverIpv4);
  ASSERT_EQ(decode(send.datagram, send.way, packet), Damage::none);
  EXPECT_EQ(packet.opcode, opcode_of(Transport::uc, Operation::send_only));
  EXPECT_EQ(packet.destination_qpn, 0xd3u);
  EXPECT_EQ(packet.psn, 0xcf1710u);
  EXPECT_EQ(packet.payload.size(), 18u);
}

// The CRC behind the headers up to the BTH, whose bytes are masked here.
std::uint32_t crc_behind_grh(const Bytes& frame) {
  constexpr std::size_t kGrhBytes = 40;
  Bytes grh(frame.begin() + kEthernetBytes, frame.begin() + kEthernetBytes + kGrhBytes);
  grh[0] |= 0x0f;
  std::fill(grh.begin() + 1, grh.begin() + 4, 0xff);
  grh[7] = 0xff;
  const std::span<const std::uint8_t> packet = std::span(frame).subspan(kEthernetBytes + kGrhBytes);
  Bth bth;
  std::memcpy(&bth, packet.data(), sizeof bth);
  Icrc icrc{std::span<const std::uint8_t>(grh)};
  icrc.add_bth(bth);
  icrc.add(packet.subspan(sizeof bth, packet.size() - sizeof bth - kIcrcBytes));
  return icrc.value();
}

TEST(RoceRecorded, TheCrcOfFramesBehindAGrhIsRight) {
  EXPECT_EQ(crc_behind_grh(from_hex(kWriteBehindGrh)), 0xbb56d8e3u);
  EXPECT_EQ(crc_behind_grh(from_hex(kAckBehindGrh)), 0x38c0f025u);
}

void expect_the_same_back(const RocePacket& sent) {
  const Bytes datagram = encoded(sent, some_way());
  EXPECT_EQ(datagram.size() % 4, 0u);
  RocePacket got;
  ASSERT_EQ(decode(datagram, some_way(), got), Damage::none);
  EXPECT_TRUE(std::ranges::equal(got.payload, sent.payload));
  // The fields that the opcode has came along: they make the same bytes again.
  EXPECT_EQ(encoded(got, some_way()), datagram);
}

TEST(RoceOpcode, EachIsMadeAndUnderstood) {
  int count = 0;
  const Bytes payload = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  for (const std::uint8_t opcode : test::opcodes()) {
    SCOPED_TRACE("opcode " + std::to_string(opcode));
    ++count;
    const PayloadLimits limits = payload_limits(opcode);
    for (std::size_t size = limits.least; size <= std::min(limits.most, payload.size()); ++size) {
      expect_the_same_back(full_packet(opcode, std::span(payload).first(size)));
    }
  }
  // RC 25 (with FLUSH and ATOMIC WRITE), UC 12, DC 24 (with connect), UD 2, CNP 1, XRC 23, own 2,
  // and of XRC and DC 2 each.
  EXPECT_EQ(count, 25 + 12 + 24 + 2 + 1 + 23 + 2 + 2 + 2);
}

// The headers of full_packet as they lie in a datagram.
const std::string kFeth = "00000021";
const std::string kDeth = "1122334400556677";
const std::string kDceth = "0000000000998877";
const std::string kDcceth = "81828384858687889192939495969798";
const std::string kXrceth = "00123456";
const std::string kReth = "0102030405060708a1a2a3a401000002";
const std::string kAtomicEth = "1112131415161718b1b2b3b421222324252627283132333435363738";
const std::string kAeth = "1f654321";
const std::string kAtomicAckEth = "4142434445464748";
const std::string kImm = "c4c3c2c1";
const std::string kIeth = "d1d2d3d4";
const std::string kMaskedEth = "00000004515253545556575861626364656667687172737475767778";

struct Row {
  std::uint8_t operation;
  std::string headers;  // as RC has them
};
const std::vector<Row> kRows = {
    {0x00, ""},
    {0x01, ""},
    {0x02, ""},
    {0x03, kImm},
    {0x04, ""},
    {0x05, kImm},
    {0x06, kReth},
    {0x07, ""},
    {0x08, ""},
    {0x09, kImm},
    {0x0a, kReth},
    {0x0b, kReth + kImm},
    {0x0c, kReth},
    {0x0d, kAeth},
    {0x0e, ""},
    {0x0f, kAeth},
    {0x10, kAeth},
    {0x11, kAeth},
    {0x12, kAeth + kAtomicAckEth},
    {0x13, kAtomicEth},
    {0x14, kAtomicEth},
    {0x16, kIeth},
    {0x17, kIeth},
    {0x1c, kFeth + kReth},
    {0x1d, kReth},
};

// All of a packet between its BTH and its payload.
std::string headers_in(std::uint8_t opcode, bool solicited) {
  const Bytes payload(payload_limits(opcode).least, 0);
  RocePacket packet = full_packet(opcode, payload);
  packet.solicited = solicited;
  const Bytes datagram = encoded(packet, some_way());
  return test::to_hex(std::span(datagram).subspan(
      sizeof(Bth), datagram.size() - sizeof(Bth) - kIcrcBytes - payload.size()));
}

std::optional<std::string> expected_headers(std::uint8_t opcode, bool solicited) {
  const std::uint8_t operation = opcode & 0x1f;
  const auto row = std::ranges::find(kRows, operation, &Row::operation);
  const bool is_response = operation >= 0x0d && operation <= 0x12;
  const bool is_of_rc_alone = operation >= 0x1c;
  const bool exists = row != kRows.end();
  switch (opcode & 0xe0) {
    case 0x00:
      if (exists) return row->headers;
      break;
    case 0x20:
      if (operation <= 0x0b) return row->headers;
      break;
    case 0x40:
      if (operation == 0x15) return solicited ? kDceth : kDceth + kDcceth;
      if (exists && !is_of_rc_alone) return kDceth + row->headers;
      break;
    case 0x60:
      if (operation == 0x04 || operation == 0x05) return kDeth + row->headers;
      break;
    case 0x80:
      if (opcode == kCnpOpcode) return "";
      break;
    case 0xc0:
      if (operation == 0x13 || operation == 0x14) return kAtomicEth + kMaskedEth;
      if (operation == 0x1a || operation == 0x1b) return kDceth + kAtomicEth + kMaskedEth;
      break;
    case 0xe0:
      if (operation == 0x13 || operation == 0x14) return kXrceth + kAtomicEth + kMaskedEth;
      break;
    case 0xa0:
      if (exists && !is_of_rc_alone) return (is_response ? "" : kXrceth) + row->headers;
      break;
  }
  return {};
}

TEST(RoceOpcode, HasTheHeadersOfTheSpecificationInItsBytes) {
  for (unsigned code = 0; code < 256; ++code) {
    const auto opcode = static_cast<std::uint8_t>(code);
    SCOPED_TRACE("opcode " + std::to_string(code));
    for (const bool solicited : {false, true}) {
      const auto expected = expected_headers(opcode, solicited);
      ASSERT_EQ(extensions_of(opcode, solicited).has_value(), expected.has_value());
      if (!expected) continue;
      EXPECT_EQ(headers_in(opcode, solicited), *expected);
    }
  }
}

TEST(RoceOpcode, TheBaseHeadersBytes) {
  const Bytes payload = {9};
  RocePacket packet = full_packet(opcode_of(Transport::rc, Operation::send_only), payload);
  packet.solicited = packet.becn = true;
  const Bytes datagram = encoded(packet, some_way());
  EXPECT_EQ(test::to_hex(std::span(datagram).first(sizeof(Bth) + 4)),
            "04f081234045678980abcdef09000000");
}

TEST(RoceCrc, FindsEachBitThatChangesButTheBitsOfCongestion) {
  const Bytes payload = {1, 2, 3, 4, 5};
  const Bytes datagram =
      encoded(full_packet(opcode_of(Transport::rc, Operation::write_only), payload), some_way());
  for (std::size_t bit = 0; bit < 8 * datagram.size(); ++bit) {
    Bytes changed = datagram;
    changed[bit / 8] = static_cast<std::uint8_t>(changed[bit / 8] ^ (1u << bit % 8));
    RocePacket packet;
    const bool may_change = bit / 8 == offsetof(Bth, qpn);
    EXPECT_EQ(decode(changed, some_way(), packet), may_change ? Damage::none : Damage::icrc) << bit;
  }
}

TEST(RoceCrc, CoversTheWay) {
  const Bytes datagram =
      encoded(full_packet(opcode_of(Transport::rc, Operation::acknowledge), {}), some_way());
  RocePacket packet;
  const auto is_found = [&](auto change) {
    UdpWay other = some_way();
    change(other);
    return decode(datagram, other, packet) == Damage::icrc;
  };
  EXPECT_TRUE(is_found([](UdpWay& way) { way.source.bytes[3] = 9; }));
  EXPECT_TRUE(is_found([](UdpWay& way) { way.destination.bytes[0] = 9; }));
  EXPECT_TRUE(is_found([](UdpWay& way) { ++way.source_port; }));
  EXPECT_TRUE(is_found([](UdpWay& way) { ++way.destination_port; }));
  EXPECT_TRUE(is_found([](UdpWay& way) { ++way.identification; }));
  EXPECT_TRUE(is_found([](UdpWay& way) { way.fragment = 0; }));
  EXPECT_TRUE(is_found([](UdpWay& way) { way.source.is_v6 = way.destination.is_v6 = true; }));
  EXPECT_FALSE(is_found([](UdpWay&) {}));
}

TEST(RoceIcrc, StartsAreThoseOfTheWayWithItsNumber) {
  UdpWay way = some_way();
  UdpWay v6 = way;
  v6.source.is_v6 = v6.destination.is_v6 = true;
  IcrcStarts starts(way), v6_starts(v6);
  for (const std::size_t size : {16u, 40u, 4112u, 40u, 48u, 4128u}) {
    EXPECT_EQ(v6_starts.of(size, 5).value(), Icrc(v6, size).value());
    for (const std::uint16_t number : {0, 1, 32, 63}) {
      way.identification = number;
      EXPECT_EQ(starts.of(size, number).value(), Icrc(way, size).value()) << size << " " << number;
    }
  }
}

TEST(RoceIcrc, APacketWithAnyNumberOfATrainIsKnownAndNoOther) {
  IcrcNumbers numbers(5000);
  for (const std::size_t payload_bytes : {0u, 8u, 4096u}) {
    const Bytes payload(payload_bytes, 3);
    const RocePacket sent =
        full_packet(opcode_of(Transport::rc,
                              payload_bytes == 0 ? Operation::acknowledge : Operation::write_only),
                    payload);
    RocePacket packet;
    for (const std::uint16_t number : {0, 1, 2, 17, 63, 64, 256, 65535}) {
      UdpWay way = some_way();
      way.identification = number;
      Bytes datagram = encoded(sent, way);
      const Icrc start(some_way(), datagram.size());
      const Damage expected = number < 64 ? Damage::none : Damage::icrc;
      EXPECT_EQ(decode(datagram, start, packet, &numbers), expected) << number;
      datagram[datagram.size() - 7] ^= 0x10;
      EXPECT_EQ(decode(datagram, start, packet, &numbers), Damage::icrc);
    }
  }
}

// Gives the datagram the CRC of what it has become, if it has room for one.
void sign(Bytes& datagram) {
  if (datagram.size() < sizeof(Bth) + kIcrcBytes) return;
  Bth bth;
  std::memcpy(&bth, datagram.data(), sizeof bth);
  Icrc icrc(some_way(), datagram.size());
  icrc.add_bth(bth);
  icrc.add(std::span(datagram).subspan(sizeof bth, datagram.size() - sizeof bth - kIcrcBytes));
  const std::uint32_t value = icrc.value();
  std::memcpy(datagram.data() + datagram.size() - kIcrcBytes, &value, sizeof value);
}

// Of a WRITE of two bytes that is changed and signed again.
Damage damage_of(const auto& change) {
  const Bytes payload = {1, 2};
  Bytes datagram =
      encoded(full_packet(opcode_of(Transport::rc, Operation::write_only), payload), some_way());
  change(datagram);
  sign(datagram);
  RocePacket packet;
  return decode(datagram, some_way(), packet);
}

TEST(RoceDamage, IsNamed) {
  EXPECT_EQ(damage_of([](Bytes&) {}), Damage::none);
  EXPECT_EQ(damage_of([](Bytes& all) { all.clear(); }), Damage::length);
  EXPECT_EQ(damage_of([](Bytes& all) { all.resize(12); }), Damage::length);
  EXPECT_EQ(damage_of([](Bytes& all) { all.resize(16); }), Damage::length);  // no RETH
  EXPECT_EQ(damage_of([](Bytes& all) { all.pop_back(); }), Damage::length);
  // A READ request has no payload.
  EXPECT_EQ(damage_of([](Bytes& all) { all[0] = 0x0c; }), Damage::payload);
  EXPECT_EQ(damage_of([](Bytes& all) { all[1] |= 1; }), Damage::version);
  EXPECT_EQ(damage_of([](Bytes& all) { all[0] = 0x1f; }), Damage::opcode);
  EXPECT_EQ(damage_of([](Bytes& all) { all[0] = 0xff; }), Damage::opcode);
  // Two of the four bytes behind the headers are padding; three of none cannot be.
  EXPECT_EQ(damage_of([](Bytes& all) {
              all[1] |= 0x30;
              all.erase(all.end() - 8, all.end() - 4);
            }),
            Damage::padding);
}

// Of a signed datagram of this opcode, and of nothing but 0x00 behind its first two bytes.
Damage expected_damage(std::uint8_t opcode, std::size_t size) {
  const auto extensions = extensions_of(opcode);
  if (size < sizeof(Bth) + kIcrcBytes || size % 4 != 0) return Damage::length;
  if (!extensions) return Damage::opcode;
  const std::size_t around = sizeof(Bth) + extensions->bytes() + kIcrcBytes;
  if (size < around) return Damage::length;
  const PayloadLimits limits = payload_limits(opcode);
  const bool fits = size - around >= limits.least && size - around <= limits.most;
  return fits ? Damage::none : Damage::payload;
}

// Each in memory of its own, so that the address sanitizer sees a read beyond it.
TEST(RoceDamage, OfEachLengthOfEachOpcodeIsFound) {
  for (unsigned code = 0; code < 256; ++code) {
    const auto opcode = static_cast<std::uint8_t>(code);
    for (std::size_t size = 0; size <= 80; ++size) {
      Bytes datagram(size, 0);
      if (size != 0) datagram[0] = opcode;
      sign(datagram);
      RocePacket packet;
      EXPECT_EQ(decode(datagram, some_way(), packet), expected_damage(opcode, size))
          << "opcode " << code << ", " << size << " bytes";
    }
  }
}

TEST(RoceDamage, MoreThanIpCarriesIsTooLong) {
  RocePacket packet;
  for (const std::size_t size : {kMaxPacketBytes + 1, std::size_t{65536}, std::size_t{1} << 20}) {
    EXPECT_EQ(decode(Bytes(round_up(size, 4)), some_way(), packet), Damage::length);
  }
}

// Whatever bytes a stranger signs: a packet's parts are those of its datagram.
TEST(RoceDamage, OfRandomBytesLeavesNothingThatIsNotThere) {
  std::mt19937_64 random(1);
  int packets = 0;
  for (int i = 0; i < 100'000; ++i) {
    Bytes datagram(4 * (random() % 32));
    for (std::uint8_t& byte : datagram) byte = static_cast<std::uint8_t>(random());
    if (datagram.size() > 1 && random() % 8 != 0) datagram[1] &= 0xf0;  // the version
    sign(datagram);
    RocePacket packet;
    if (decode(datagram, some_way(), packet) != Damage::none) continue;
    ++packets;
    ASSERT_EQ(size_of(packet), datagram.size());
    const Bytes again = encoded(packet, some_way());
    RocePacket same;
    ASSERT_EQ(decode(again, some_way(), same), Damage::none);
    ASSERT_TRUE(std::ranges::equal(same.payload, packet.payload));
  }
  EXPECT_GT(packets, 1000);
}

}  // namespace
}  // namespace gdakit::softnic::roce
