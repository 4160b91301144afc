// Captures: tshark, which is not ours, reads each packet as it was meant.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/wire/pcapng.h"
#include "tests/roce/packets.h"
#include "tests/roce/tshark.h"

namespace gdakit::softnic::roce {
namespace {

using test::Bytes;
using test::encoded;
using test::full_packet;
using test::number;
using test::some_way;

class Capture : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::tshark_is_installed()) GTEST_SKIP() << test::kNoTshark;
    pcapng::add_section(file_, "gdakit");
    pcapng::add_interface(file_, "pe0");
  }

  void add(const RocePacket& packet, const UdpWay& way = some_way()) {
    pcapng::Captured captured;
    captured.time_ns = 1'700'000'000'123'456'789;
    captured.direction = pcapng::Direction::outbound;
    captured.comment = "PE 0 queue 3 WQE 17";
    pcapng::add_packet(file_, captured, frame_of(way, encoded(packet, way)));
  }

  test::Rows read(const std::vector<std::string>& fields) {
    const std::string path = folder_ / "capture.pcapng";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file_.data()),
               static_cast<std::streamsize>(file_.size()));
    return test::read_by_tshark(path, fields);
  }

  test::TemporaryFolder folder_;
  Bytes file_;
};

const Bytes kSome = {1, 2, 3, 4, 5};

std::vector<RocePacket> one_of_each_opcode() {
  static const Bytes kPayload(16, 0x11);
  std::vector<RocePacket> packets;
  for (const std::uint8_t opcode : test::opcodes()) {
    const PayloadLimits limits = payload_limits(opcode);
    const std::size_t size = std::clamp<std::size_t>(kSome.size(), limits.least, limits.most);
    packets.push_back(full_packet(opcode, std::span(kPayload).first(size)));
  }
  return packets;
}

// tshark 4.0's table has no FLUSH, ATOMIC WRITE, CNP or XRC, and takes DC's headers for other ones.
bool is_in_its_table(std::uint8_t opcode) {
  const Transport transport = transport_of(opcode);
  const bool is_known =
      transport == Transport::rc || transport == Transport::uc || transport == Transport::ud;
  return is_known && operation_of(opcode) < Operation::flush;
}

TEST_F(Capture, EveryOpcodesBaseHeaderIsRead) {
  const std::vector<RocePacket> packets = one_of_each_opcode();
  for (const RocePacket& packet : packets) add(packet);
  const auto rows = read({"infiniband.bth.opcode", "infiniband.bth.p_key", "infiniband.bth.destqp",
                          "infiniband.bth.psn", "infiniband.bth.padcnt", "frame.comment",
                          "ip.checksum.status", "frame.time_epoch"});
  ASSERT_EQ(rows.size(), packets.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(number(rows[i][0]), packets[i].opcode);
    EXPECT_EQ(number(rows[i][1]), packets[i].pkey);
    EXPECT_EQ(number(rows[i][2]), packets[i].destination_qpn);
    EXPECT_EQ(number(rows[i][3]), packets[i].psn);
    EXPECT_EQ(number(rows[i][4]), (4 - packets[i].payload.size() % 4) % 4);
    EXPECT_EQ(rows[i][5], "PE 0 queue 3 WQE 17");
    EXPECT_EQ(rows[i][6], "1");  // good
    EXPECT_EQ(rows[i][7], "1700000000.123456789");
  }
}

TEST_F(Capture, NothingThatItKnowsIsMalformed) {
  std::vector<RocePacket> packets;
  for (const RocePacket& packet : one_of_each_opcode()) {
    if (is_in_its_table(packet.opcode)) packets.push_back(packet);
  }
  ASSERT_EQ(packets.size(), 23u + 12u + 2u);
  for (const RocePacket& packet : packets) add(packet);
  const auto rows = read({"_ws.malformed", "infiniband.payload", "infiniband.invariant.crc"});
  ASSERT_EQ(rows.size(), packets.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][0], "") << "opcode " << int{packets[i].opcode};
    EXPECT_NE(rows[i][2], "") << "opcode " << int{packets[i].opcode};
  }
}

TEST_F(Capture, TheOtherHeadersAreRead) {
  // A header's first field, and what full_packet has put into it and the ones behind it.
  struct Expected {
    RocePacket packet;
    std::vector<std::string> fields;
    std::vector<std::uint64_t> values;
  };
  const auto packet = [](Transport transport, Operation operation) {
    return full_packet(opcode_of(transport, operation), {});
  };
  const std::vector<Expected> all = {
      {packet(Transport::rc, Operation::write_only),
       {"infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen"},
       {0x0102030405060708, 0xa1a2a3a4, 0x01000002}},
      {packet(Transport::rc, Operation::compare_swap),
       {"infiniband.reth.va", "infiniband.reth.r_key", "infiniband.atomiceth.swapdt",
        "infiniband.atomiceth.cmpdt"},
       {0x1112131415161718, 0xb1b2b3b4, 0x2122232425262728, 0x3132333435363738}},
      {packet(Transport::rc, Operation::acknowledge),
       {"infiniband.aeth.syndrome", "infiniband.aeth.msn"},
       {0x1f, 0x654321}},
      {packet(Transport::ud, Operation::send_only),
       {"infiniband.deth.q_key", "infiniband.deth.srcqp"},
       {0x11223344, 0x556677}},
  };
  for (const Expected& expected : all) add(expected.packet);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto rows = read(all[i].fields);
    ASSERT_EQ(rows.size(), all.size());
    for (std::size_t field = 0; field < all[i].fields.size(); ++field) {
      EXPECT_EQ(number(rows[i][field]), all[i].values[field]) << all[i].fields[field];
    }
  }
}

TEST_F(Capture, TheKeyThatIsInvalidatedAndTheImmediateAreRead) {
  add(full_packet(opcode_of(Transport::rc, Operation::send_only_invalidate), {}));
  add(full_packet(opcode_of(Transport::rc, Operation::send_only_imm), {}));
  const auto rows = read({"infiniband.ieth", "infiniband.immdt"});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][0].substr(0, 8), "d1d2d3d4");
  EXPECT_EQ(rows[1][1].substr(0, 8), "c4c3c2c1");  // as its bytes lie in memory
}

TEST_F(Capture, ACommentThatIsTooLongIsCutBetweenCharacters) {
  std::string comment(65'534, 'x');
  comment += "\u00e9 and more";  // of which one byte more would fit
  pcapng::Captured captured;
  captured.comment = comment;
  const RocePacket packet = full_packet(opcode_of(Transport::rc, Operation::send_only), kSome);
  pcapng::add_packet(file_, captured, frame_of(some_way(), encoded(packet, some_way())));
  add(packet);
  const auto rows = read({"infiniband.bth.opcode", "frame.comment"});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][1], comment.substr(0, 65'534));
  EXPECT_EQ(rows[1][1], "PE 0 queue 3 WQE 17");
}

TEST_F(Capture, OfIpv6IsRead) {
  UdpWay way = some_way();
  way.source.is_v6 = way.destination.is_v6 = true;
  way.destination.bytes = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  add(full_packet(opcode_of(Transport::rc, Operation::send_only), kSome), way);
  const auto rows =
      read({"ipv6.dst", "infiniband.bth.opcode", "_ws.malformed", "udp.checksum.status"});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"fd00::2", "4", "", "1"}));
}

TEST_F(Capture, TheTrafficClassIsReadAndNoChecksumSuffers) {
  UdpWay v6 = some_way();
  v6.source.is_v6 = v6.destination.is_v6 = true;
  const RocePacket packet = full_packet(opcode_of(Transport::rc, Operation::send_only), kSome);
  for (const UdpWay& way : {some_way(), v6}) {
    pcapng::add_packet(file_, {}, frame_of(way, encoded(packet, way), 0x6a));
  }
  const auto rows = read(
      {"ip.dsfield", "ip.checksum.status", "ipv6.tclass", "ipv6.version", "udp.checksum.status"});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(number(rows[0][0]), 0x6au);
  EXPECT_EQ(rows[0][1], "1");
  EXPECT_EQ(number(rows[1][2]), 0x6au);
  EXPECT_EQ(rows[1][3], "6");
  EXPECT_EQ(rows[1][4], "1");
}

TEST_F(Capture, WhatWasDroppedAndWhatAFrameLacksIsRead) {
  const RocePacket packet = full_packet(opcode_of(Transport::rc, Operation::send_only), kSome);
  const Bytes frame = frame_of(some_way(), encoded(packet, some_way()));
  pcapng::add_packet(file_, {.original_bytes = 5000, .dropped = 1'000'000'000'007}, frame);
  pcapng::add_packet(file_, {}, frame);
  pcapng::add_statistics(file_, {.received = 9, .dropped = 7});
  const auto rows = read({"frame.cap_len", "frame.len", "frame.drop_count"});
  const std::string size = std::to_string(frame.size());
  EXPECT_EQ(rows, (test::Rows{{size, "5000", "1000000000007"}, {size, size, ""}}));
}

}  // namespace
}  // namespace gdakit::softnic::roce
