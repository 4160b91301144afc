// What a NIC sends and receives, as its capture shows it.
#include "backends/softnic/wire/capture_wire.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/softnic/wire/faulty_wire.h"
#include "backends/softnic/wire/shm_wire.h"
#include "tests/roce/capture_blocks.h"
#include "tests/roce/tshark.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/every_operation.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic {
namespace {

using roce::test::Bytes;
using roce::test::CapturedFrame;
using roce::test::TemporaryFolder;
using softnic::test::EngineRig;
using softnic::test::Losses;
using softnic::test::LossyWire;
using softnic::test::RigOptions;
using testing::Contains;
using testing::HasSubstr;

constexpr std::uint32_t kInbound = 1, kOutbound = 2;

std::unique_ptr<CaptureWire> captured(std::unique_ptr<Wire> wire, const std::string& path,
                                      AddressOf address = capture_address,
                                      const CaptureFileOptions& options = {}) {
  auto file = CaptureFile::create(path, options);
  EXPECT_TRUE(file) << file.error().message();
  return std::make_unique<CaptureWire>(std::move(wire), std::move(*file), std::move(address));
}

// A frame, taken apart with its ICRC checked.
struct Shown {
  Shown(const CapturedFrame& captured, Endpoint from, Endpoint to)
      : frame(captured), way(way_of(from, to)) {
    constexpr std::size_t kHeaders = 20 + 8;
    EXPECT_EQ(frame.original_bytes, frame.bytes.size());
    EXPECT_EQ(decode(std::span(frame.bytes).subspan(kHeaders), way, packet), roce::Damage::none);
    payload.assign(packet.payload.begin(), packet.payload.end());
  }
  static roce::UdpWay way_of(Endpoint from, Endpoint to) {
    roce::UdpWay way;
    way.source = capture_address(from).ip;
    way.destination = capture_address(to).ip;
    way.source_port = roce::kUdpPort;
    return way;
  }

  CapturedFrame frame;
  roce::UdpWay way;
  roce::RocePacket packet;
  Bytes payload;
};

// The packets of a capture of endpoint 0 or 1 that went one way.
std::vector<Shown> shown(const std::string& path, Endpoint self, std::uint32_t direction) {
  const auto blocks = roce::test::read_blocks(roce::test::read_file(path));
  EXPECT_TRUE(blocks.whole);
  const Endpoint from = direction == kOutbound ? self : 1 - self;
  std::vector<Shown> some;
  for (const CapturedFrame& frame : blocks.frames) {
    if (frame.direction == direction) some.emplace_back(frame, from, 1 - from);
  }
  return some;
}

Bytes joined_payload(const std::vector<Shown>& packets) {
  Bytes all;
  for (const Shown& one : packets) all.insert(all.end(), one.payload.begin(), one.payload.end());
  return all;
}

// Both NICs' captures of the traffic, a.pcapng and b.pcapng in the folder.
void run(const TemporaryFolder& folder, const std::function<void(EngineRig&)>& traffic,
         bool by_value = false, const CaptureFileOptions& file = {}) {
  RigOptions options;
  options.wrap_wire = [&](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    if (by_value) wire = std::make_unique<LossyWire>(std::move(wire), Losses{.by_value = true});
    return captured(std::move(wire), folder / (side == 0 ? "a.pcapng" : "b.pcapng"),
                    capture_address, file);
  };
  EngineRig rig(options);
  traffic(rig);
}

constexpr std::uint32_t kLong = 10'000;  // three PSNs of the loopback wire

void write_long(EngineRig& rig) {
  test::fill(rig.a.heap.data(), kLong, 1);
  rig.a.post(test::write_wqe(rig, 0, 0, kLong));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  ASSERT_EQ(std::memcmp(rig.a.heap.data(), rig.b.heap.data(), kLong), 0);
}

void read_long(EngineRig& rig) {
  test::fill(rig.b.heap.data(), kLong, 2);
  rig.a.post(test::read_wqe(rig, 0, 0, kLong));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  ASSERT_EQ(std::memcmp(rig.a.heap.data(), rig.b.heap.data(), kLong), 0);
}

void send_long_with_immediate(EngineRig& rig) {
  test::fill(rig.a.heap.data(), kLong, 3);
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, kLong)});
  rig.a.post({.opcode = format::Opcode::send_imm,
              .solicited = true,
              .imm = 0x01020304,
              .body = {rig.a.data(0, kLong)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
}

Bytes filled(std::uint32_t seed) {
  Bytes bytes(kLong);
  test::fill(bytes.data(), kLong, seed);
  return bytes;
}

TEST(CaptureWire, AMarkedRequestAndItsCnpAreReadByTshark) {
  if (!roce::test::tshark_is_installed()) GTEST_SKIP() << roce::test::kNoTshark;
  const TemporaryFolder folder;
  RigOptions options;
  options.engine.congestion_control = true;
  options.wrap_wire = [&](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    return captured(make_faulty(std::move(wire), {.mark = 1}),
                    folder / (side == 0 ? "a.pcapng" : "b.pcapng"));
  };
  QpNumber sender = 0;
  {
    EngineRig rig(options);
    sender = rig.a.qpn;
    rig.a.post(test::write_wqe(rig, 0, 0, 8));
    rig.a.ring();
    ASSERT_TRUE(rig.run());
  }
  const auto rows = roce::test::read_by_tshark(
      folder / "b.pcapng", {"infiniband.bth.opcode", "ip.dsfield.ecn", "infiniband.bth.destqp",
                            "infiniband.bth.psn", "udp.length"});
  const auto find = [&rows](std::uint64_t opcode) {
    return std::find_if(rows.begin(), rows.end(),
                        [=](const auto& row) { return roce::test::number(row[0]) == opcode; });
  };
  const auto request = find(0x0a), cnp = find(roce::kCnpOpcode);
  ASSERT_TRUE(request != rows.end() && cnp != rows.end());
  EXPECT_EQ((*request)[1], "3");
  EXPECT_EQ((*cnp)[1], "0");
  EXPECT_EQ(roce::test::number((*cnp)[2]), sender);
  EXPECT_EQ((*cnp)[3], "0");
  EXPECT_EQ((*cnp)[4], "40");
}

TEST(CaptureWire, EveryOperationIsReadByTsharkWithoutFault) {
  if (!roce::test::tshark_is_installed()) GTEST_SKIP() << roce::test::kNoTshark;
  const TemporaryFolder folder;
  run(folder, [](EngineRig& rig) {
    test::run_every_operation(rig, 20'000);
    send_long_with_immediate(rig);
  });
  for (const Endpoint self : {0u, 1u}) {
    const std::string path = folder / (self == 0 ? "a.pcapng" : "b.pcapng");
    const auto rows = roce::test::read_by_tshark(
        path, {"infiniband.bth.opcode", "_ws.malformed", "ip.checksum.status", "ip.src"});
    EXPECT_EQ(rows.size(),
              shown(path, self, kInbound).size() + shown(path, self, kOutbound).size());
    std::set<std::uint64_t> opcodes;
    for (const auto& row : rows) {
      opcodes.insert(roce::test::number(row[0]));
      EXPECT_EQ(row[1], "");
      EXPECT_EQ(row[2], "1");
      EXPECT_THAT(row[3], testing::AnyOf("10.0.0.1", "10.0.0.2"));
    }
    // SEND and WRITE whole and in parts, READ, its responses, ACK, the atomic and its answer.
    EXPECT_THAT(opcodes, testing::IsSupersetOf({0x00, 0x01, 0x03, 0x04, 0x06, 0x07, 0x08, 0x0a,
                                                0x0c, 0x0d, 0x0e, 0x0f, 0x11, 0x12, 0x14}));
  }
}

TEST(CaptureWire, PayloadByReferenceIsWhatMemoryHoldsOnBothSides) {
  const TemporaryFolder folder;
  const std::string a = folder / "a.pcapng", b = folder / "b.pcapng";
  run(folder, write_long);
  EXPECT_EQ(joined_payload(shown(a, 0, kOutbound)), filled(1));
  EXPECT_EQ(joined_payload(shown(b, 1, kInbound)), filled(1));
  run(folder, read_long);
  EXPECT_EQ(joined_payload(shown(b, 1, kOutbound)), filled(2));
  EXPECT_EQ(joined_payload(shown(a, 0, kInbound)), filled(2));
}

TEST(CaptureWire, AReceiverReadsTheSendersMemoryWhereItHasMappedIt) {
  const TemporaryFolder folder;
  const std::string path = folder / "b.pcapng";
  const Bytes own(1000, 1), mapped(1000, 2);  // of one heap; in earnest the same bytes
  const auto memory_at = [](Endpoint self, const Bytes& heap) {
    auto memory = std::make_shared<PeerMemory>(2, self);
    memory->set(0, host_address(heap.data()), heap.size());
    return memory;
  };
  const auto segment = std::move(*ShmSegment::create({.slots = 8}));
  const auto a = std::move(*segment->attach(0, memory_at(0, own)));
  auto b = captured(std::move(*segment->attach(1, memory_at(1, mapped))), path);
  Packet packet;
  packet.header.destination = 1;
  packet.header.opcode = PacketOpcode::send_only;
  packet.header.payload_size = 1000;
  packet.header.fragment_count = 1;
  packet.fragments[0] = {host_address(own.data()), 1000};
  ASSERT_TRUE(a->by_reference(packet) && a->send(packet));
  a->flush();
  const Packet* const received = b->receive();
  ASSERT_NE(received, nullptr);
  b->retire(received);
  b.reset();
  EXPECT_EQ(joined_payload(shown(path, 1, kInbound)), mapped);
}

// What by value and by reference have in common: acknowledges may be fewer by reference, and each
// rig's heap lies elsewhere.
std::vector<std::string> messages(const TemporaryFolder& folder) {
  std::vector<std::string> all;
  for (const Endpoint self : {0u, 1u}) {
    for (Shown& one : shown(folder / (self == 0 ? "a.pcapng" : "b.pcapng"), self, kOutbound)) {
      if (roce::operation_of(one.packet.opcode) == roce::Operation::acknowledge) continue;
      one.packet.reth.address = 0;
      one.packet.payload = one.payload;
      all.push_back(one.frame.comment + " " +
                    roce::test::to_hex(roce::test::encoded(one.packet, one.way)));
    }
  }
  return all;
}

TEST(CaptureWire, AMessageByReferenceIsShownAsARunByValueSendsIt) {
  for (const auto& traffic : {write_long, read_long, send_long_with_immediate}) {
    const TemporaryFolder by_reference, by_value;
    run(by_reference, traffic);
    run(by_value, traffic, true);
    const auto messages_by_value = messages(by_value);
    EXPECT_GE(messages_by_value.size(), 3u);
    EXPECT_EQ(messages(by_reference), messages_by_value);
  }
}

TEST(CaptureWire, ACommentNamesPesTheSendersQueuePairAndTheWqe) {
  const TemporaryFolder folder;
  QpNumber qpn = 0;
  run(folder, [&](EngineRig& rig) {
    rig.a.post(test::write_wqe(rig, 0, 0, 8));
    read_long(rig);
    qpn = rig.a.qpn;
  });
  std::array<char, 16> number;
  std::snprintf(number.data(), number.size(), "0x%06x", qpn);
  const auto requests = shown(folder / "a.pcapng", 0, kOutbound);
  const auto responses = shown(folder / "a.pcapng", 0, kInbound);
  ASSERT_EQ(requests.size(), 2u);
  ASSERT_GE(responses.size(), 3u);  // those of the READ, which may acknowledge the WRITE, too
  EXPECT_EQ(requests[1].frame.comment,
            std::string("PE 0 -> PE 1, QP ") + number.data() + ", WQE 1");
  EXPECT_EQ(responses.back().frame.comment, "PE 1 -> PE 0");
  EXPECT_EQ(shown(folder / "b.pcapng", 1, kInbound)[0].frame.comment, "PE 0 -> PE 1");
}

TEST(CaptureWire, AQueueThatIsTooSmallLosesPacketsAndTheNicNone) {
  const TemporaryFolder folder;
  const std::string a = folder / "a.pcapng";
  testing::internal::CaptureStderr();
  // Of a message's packets the last one alone fits.
  run(folder, write_long, false, {.queue_bytes = 3072});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(a + " lacks 2 of "));
  const auto sent = shown(a, 0, kOutbound);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].payload.size(), kLong - 2 * 4096);
  EXPECT_EQ(sent[0].frame.dropped, 2u);
  if (!roce::test::tshark_is_installed()) GTEST_SKIP() << roce::test::kNoTshark;
  const auto rows = roce::test::read_by_tshark(a, {"frame.drop_count", "_ws.malformed"});
  EXPECT_EQ(rows[0], (std::vector<std::string>{"2", ""}));
}

// Two wires without NICs, the first of which is captured.
struct Pair {
  explicit Pair(AddressOf address = capture_address, const Losses& losses = {}) {
    const auto fabric = LoopbackFabric::create({.slots = 8});
    std::unique_ptr<Wire> first = std::move(*fabric->attach());
    a = captured(std::make_unique<LossyWire>(std::move(first), losses), path, std::move(address));
    b = std::move(*fabric->attach());
  }
  std::vector<CapturedFrame> frames() {
    a.reset();
    return roce::test::read_blocks(roce::test::read_file(path)).frames;
  }

  TemporaryFolder folder;
  std::string path = folder / "a.pcapng";
  std::unique_ptr<CaptureWire> a;
  std::unique_ptr<Wire> b;
};

Packet small_packet(PacketOpcode opcode = PacketOpcode::send_only) {
  static const std::uint8_t kBytes[] = {1, 2, 3};
  Packet packet;
  packet.header.destination = 1;
  packet.header.opcode = opcode;
  packet.header.payload_size = sizeof kBytes;
  packet.payload = kBytes;
  return packet;
}

TEST(CaptureWire, APacketIsCapturedOnceTheWireHasTakenIt) {
  bool full = true;
  Pair pair(capture_address, {.full = [&] { return full; }});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(pair.a->send(small_packet()));
  full = false;
  EXPECT_TRUE(pair.a->send(small_packet()));
  EXPECT_EQ(pair.frames().size(), 1u);
}

TEST(CaptureWire, WhatTheWireLosesIsInTheSendersCapture) {
  Pair pair(capture_address, {.drop_percent = 100});
  EXPECT_TRUE(pair.a->send(small_packet()));
  EXPECT_EQ(pair.frames().size(), 1u);
}

TEST(CaptureWire, PayloadOfAGpuIsNotInTheFrame) {
  Pair pair;
  const Bytes host(100, 7);
  Packet packet = small_packet();
  packet.header.payload_size = 301;
  packet.header.fragment_count = 2;
  packet.fragments[0] = {host_address(host.data()), 100};
  packet.fragments[1] = {{kGpuMemoryBit | 0x1000}, 201};
  EXPECT_TRUE(pair.a->send(packet));
  const auto frames = pair.frames();
  ASSERT_EQ(frames.size(), 1u);
  constexpr std::size_t kHeaders = 20 + 8 + sizeof(roce::Bth);
  EXPECT_EQ(frames[0].bytes.size(), kHeaders + 100);
  EXPECT_EQ(frames[0].original_bytes, kHeaders + 304 + roce::kIcrcBytes);
  EXPECT_TRUE(std::equal(host.begin(), host.end(), frames[0].bytes.begin() + kHeaders));
  if (!roce::test::tshark_is_installed()) GTEST_SKIP() << roce::test::kNoTshark;
  const auto rows = roce::test::read_by_tshark(
      pair.path, {"frame.len", "infiniband.bth.opcode", "ip.len", "_ws.malformed"});
  EXPECT_EQ(rows, (roce::test::Rows{{"348", "4", "348", ""}}));
}

TEST(CaptureWire, AFrameOverIpv6ThatIsCutHasNoChecksum) {
  Pair pair([](Endpoint) { return *UdpAddress::parse("fd00::7"); });
  Packet packet = small_packet();
  packet.header.fragment_count = 1;
  packet.fragments[0] = {{kGpuMemoryBit | 0x1000}, packet.header.payload_size};
  EXPECT_TRUE(pair.a->send(packet));
  const auto frames = pair.frames();
  ASSERT_EQ(frames.size(), 1u);
  constexpr std::size_t kHeaders = 40 + 8 + sizeof(roce::Bth);
  EXPECT_EQ(frames[0].bytes.size(), kHeaders);
  EXPECT_EQ(frames[0].original_bytes, kHeaders + 4 + roce::kIcrcBytes);
  EXPECT_EQ(frames[0].bytes[46] | frames[0].bytes[47], 0);
}

TEST(CaptureWire, AnAtomicOfGdakitsOwnGoesAsItIsEncoded) {
  Pair pair;
  Packet packet = small_packet(PacketOpcode::atomic_request);
  packet.header.payload_size = 0;
  packet.header.reth = {0x1000, 7, 4};
  packet.atomic = {.kind = AtomicKind::compare_swap, .size = 4, .swap_add = 5, .swap_mask = 6};
  EXPECT_TRUE(pair.a->send(packet));
  const auto frames = pair.frames();
  ASSERT_EQ(frames.size(), 1u);
  const Shown one(frames[0], 0, 1);
  EXPECT_EQ(one.packet.opcode,
            roce::opcode_of(roce::Transport::own, roce::Operation::compare_swap));
  EXPECT_EQ(one.packet.atomic.swap_add, 5u);
  EXPECT_EQ(one.packet.masked.swap_mask, 6u);
}

TEST(CaptureWire, WhatRoceCannotSayIsCountedAndNotShown) {
  Pair pair;
  Packet of_another_service = small_packet();
  of_another_service.header.service = ServiceType::count;
  Packet of_too_many_psns = small_packet();
  of_too_many_psns.header.psns = 2;
  EXPECT_TRUE(pair.a->send(of_another_service));
  EXPECT_TRUE(pair.a->send(of_too_many_psns));
  EXPECT_TRUE(pair.a->send(small_packet(PacketOpcode::read_request)));  // that has no payload
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(pair.a->send(small_packet()));
  testing::internal::CaptureStderr();
  const auto frames = pair.frames();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("lacks 3 of 5 packets"));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].dropped, 3u);
  EXPECT_EQ(frames[1].dropped, 0u);
}

TEST(CaptureWire, AddressesAndTheTrafficClassStandInTheIpHeader) {
  if (!roce::test::tshark_is_installed()) GTEST_SKIP() << roce::test::kNoTshark;
  AddressOf address = [](Endpoint endpoint) {
    return *UdpAddress::parse(endpoint == 0 ? "[fd00::7]:4800" : "fd00::8");
  };
  Pair pair(std::move(address));
  Packet packet = small_packet();
  packet.header.traffic_class = 0x6a;
  EXPECT_TRUE(pair.a->send(packet));
  EXPECT_EQ(pair.frames().size(), 1u);
  const auto rows = roce::test::read_by_tshark(
      pair.path,
      {"ipv6.src", "udp.srcport", "ipv6.dst", "udp.dstport", "ipv6.tclass", "udp.checksum.status"});
  EXPECT_EQ(rows, (roce::test::Rows{{"fd00::7", "4800", "fd00::8", "4791", "0x0000006a", "1"}}));
}

TEST(CaptureWire, AWireWithoutAddressesHasThoseOfAPrivateNetwork) {
  EXPECT_EQ(capture_address(0).text(), "10.0.0.1:4791");
  EXPECT_EQ(capture_address(255).text(), "10.0.1.0:4791");
  EXPECT_EQ(capture_address(0x12344).text(), "10.1.35.69:4791");
}

}  // namespace
}  // namespace gdakit::softnic
