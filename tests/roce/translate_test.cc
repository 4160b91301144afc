// The transport's packets as RoCEv2's, and back.
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "backends/softnic/wire/roce_translate.h"
#include "tests/roce/packets.h"

namespace gdakit::softnic::roce {
namespace {

const test::Bytes kPayload = {1, 2, 3, 4, 5};

bool has_payload(PacketOpcode opcode) {
  return is_send(opcode) || is_write(opcode) || is_read_response(opcode);
}

bool is_of_dc_alone(PacketOpcode opcode) {
  return opcode == PacketOpcode::dc_connect || opcode == PacketOpcode::dc_disconnect;
}

Packet packet_of(PacketOpcode opcode) {
  Packet packet;
  PacketHeader& header = packet.header;
  header.opcode = opcode;
  header.solicited = header.ack_request = true;
  header.pkey = 0x8001;
  header.destination_qpn = 0x123456;
  header.psn = 0xfffffe;
  header.imm = 0x01020304;
  if (has_payload(opcode)) {
    packet.payload = kPayload.data();
    header.payload_size = static_cast<std::uint32_t>(kPayload.size());
  }
  if (opcode == PacketOpcode::congestion_notification) {
    packet.payload = kCnpPayload;
    header.payload_size = sizeof kCnpPayload;
  }
  if (extension_of(opcode) == ExtensionKind::reth) header.reth = {0x1122334455667788, 0x99, 8};
  if (extension_of(opcode) == ExtensionKind::aeth) header.aeth = {.msn = 0xabcdef};
  if (opcode == PacketOpcode::atomic_acknowledge) header.aeth.atomic_result = 0x8877665544332211;
  if (opcode == PacketOpcode::atomic_request) packet.atomic = {.swap_add = 5};
  if (is_of_dc_alone(opcode)) {
    header.service = ServiceType::dc;
    header.solicited = opcode == PacketOpcode::dc_disconnect;
  }
  if (opcode == PacketOpcode::dc_connect) header.dcceth = {0x0102030405060708, 0x1112131415161718};
  return packet;
}

// Over the wire's bytes and back.
Packet carried(const Packet& packet, test::Bytes& datagram) {
  datagram = test::encoded(to_roce(packet), test::some_way());
  RocePacket roce;
  EXPECT_EQ(decode(datagram, test::some_way(), roce), Damage::none);
  Packet back;
  EXPECT_EQ(from_roce(roce, back), Unfit::none);
  return back;
}

void expect_same_extension(const Packet& a, const Packet& b) {
  const PacketHeader& x = a.header;
  const PacketHeader& y = b.header;
  if (extension_of(x.opcode) == ExtensionKind::reth) {
    EXPECT_EQ(x.reth.address, y.reth.address);
    EXPECT_EQ(x.reth.rkey, y.reth.rkey);
    EXPECT_EQ(x.reth.length, y.reth.length);
  }
  if (extension_of(x.opcode) == ExtensionKind::aeth &&
      x.opcode != PacketOpcode::read_response_middle) {
    EXPECT_EQ(x.aeth.acknowledge, y.aeth.acknowledge);
    EXPECT_EQ(x.aeth.rnr_timer, y.aeth.rnr_timer);
    EXPECT_EQ(x.aeth.msn, y.aeth.msn);
  }
  if (x.opcode == PacketOpcode::atomic_acknowledge) {
    EXPECT_EQ(x.aeth.atomic_result, y.aeth.atomic_result);
  }
  if (x.opcode == PacketOpcode::dc_connect) {
    EXPECT_EQ(x.dcceth.access_key, y.dcceth.access_key);
    EXPECT_EQ(x.dcceth.connection, y.dcceth.connection);
  }
}

TEST(RoceTranslate, EachOfTheTransportsPacketsComesBack) {
  for (int i = 0; i < static_cast<int>(PacketOpcode::count); ++i) {
    SCOPED_TRACE("opcode " + std::to_string(i));
    const Packet sent = packet_of(static_cast<PacketOpcode>(i));
    test::Bytes datagram;
    const Packet got = carried(sent, datagram);
    EXPECT_EQ(got.header.service, sent.header.service);
    EXPECT_EQ(got.header.opcode, sent.header.opcode);
    EXPECT_EQ(got.header.solicited, sent.header.solicited);
    EXPECT_EQ(got.header.ack_request, sent.header.ack_request);
    EXPECT_EQ(got.header.pkey, sent.header.pkey);
    EXPECT_EQ(got.header.destination_qpn, sent.header.destination_qpn);
    EXPECT_EQ(got.header.psn, sent.header.psn);
    EXPECT_EQ(got.header.psns, 1u);
    EXPECT_EQ(got.header.fragment_count, 0u);
    const bool has_imm = has_immediate(sent.header.opcode) || invalidates(sent.header.opcode);
    EXPECT_EQ(got.header.imm, has_imm ? sent.header.imm : 0);
    expect_same_extension(sent, got);
    ASSERT_EQ(got.header.payload_size, sent.header.payload_size);
    if (sent.header.payload_size != 0) {
      EXPECT_EQ(std::memcmp(got.payload, sent.payload, sent.header.payload_size), 0);
    }
  }
}

TEST(RoceTranslate, MessagesOfUcComeBack) {
  for (int i = 0; i < static_cast<int>(PacketOpcode::count); ++i) {
    Packet sent = packet_of(static_cast<PacketOpcode>(i));
    if (!is_send(sent.header.opcode) && !is_write(sent.header.opcode)) continue;
    if (invalidates(sent.header.opcode)) continue;
    sent.header.service = ServiceType::uc;
    test::Bytes datagram;
    const Packet got = carried(sent, datagram);
    EXPECT_EQ(got.header.service, ServiceType::uc);
    EXPECT_EQ(got.header.opcode, sent.header.opcode);
    EXPECT_EQ(got.header.psn, sent.header.psn);
    expect_same_extension(sent, got);
  }
}

TEST(RoceTranslate, PacketsOfXrcHaveTheSpecificationsOpcodes) {
  for (int i = 0; i < static_cast<int>(PacketOpcode::count); ++i) {
    Packet sent = packet_of(static_cast<PacketOpcode>(i));
    if (sent.header.opcode >= PacketOpcode::congestion_notification) continue;
    SCOPED_TRACE("opcode " + std::to_string(i));
    const std::uint8_t as_rc = to_roce(sent).opcode;
    const bool names_srq = !is_response(sent.header.opcode);
    sent.header.service = ServiceType::xrc;
    sent.header.xrc_srq = 0xabcde1;
    test::Bytes datagram;
    const Packet got = carried(sent, datagram);
    // Fetch-and-add of 8 bytes is plain; its transport alone is another one.
    EXPECT_EQ(datagram[0], as_rc | 0xa0);
    if (names_srq) {
      EXPECT_EQ(test::to_hex(std::span(datagram).subspan(sizeof(Bth), 4)), "00abcde1");
    }
    EXPECT_EQ(got.header.service, ServiceType::xrc);
    EXPECT_EQ(got.header.opcode, sent.header.opcode);
    EXPECT_EQ(got.header.xrc_srq, names_srq ? 0xabcde1 : 0);
    EXPECT_EQ(got.header.payload_size, sent.header.payload_size);
    expect_same_extension(sent, got);
  }
}

TEST(RoceTranslate, PacketsOfDcNameTheirSender) {
  for (int i = 0; i < static_cast<int>(PacketOpcode::count); ++i) {
    Packet sent = packet_of(static_cast<PacketOpcode>(i));
    if (sent.header.opcode == PacketOpcode::congestion_notification) continue;
    SCOPED_TRACE("opcode " + std::to_string(i));
    const std::uint8_t operation = to_roce(sent).opcode & 0x1f;
    sent.header.service = ServiceType::dc;
    sent.header.dc_source = 0xabcde1;
    test::Bytes datagram;
    const Packet got = carried(sent, datagram);
    EXPECT_EQ(datagram[0], operation | 0x40);
    EXPECT_EQ(test::to_hex(std::span(datagram).subspan(sizeof(Bth), 8)), "0000000000abcde1");
    EXPECT_EQ(got.header.service, ServiceType::dc);
    EXPECT_EQ(got.header.opcode, sent.header.opcode);
    EXPECT_EQ(got.header.dc_source, 0xabcde1u);
    EXPECT_EQ(got.header.payload_size, sent.header.payload_size);
    expect_same_extension(sent, got);
  }
}

TEST(RoceTranslate, AConnectIsUnsolicitedAndADisconnectSolicited) {
  test::Bytes datagram;
  carried(packet_of(PacketOpcode::dc_connect), datagram);
  EXPECT_EQ(datagram[0], 0x55);
  EXPECT_EQ(datagram[1] & 0x80, 0);
  carried(packet_of(PacketOpcode::dc_disconnect), datagram);
  EXPECT_EQ(datagram[0], 0x55);
  EXPECT_EQ(datagram[1] & 0x80, 0x80);
}

TEST(RoceTranslate, ACnakIsNakCodeFourOfDcAlone) {
  Packet sent = packet_of(PacketOpcode::acknowledge);
  sent.header.service = ServiceType::dc;
  sent.header.aeth.acknowledge = Acknowledge::nak_no_responder;
  EXPECT_EQ(to_roce(sent).aeth.syndrome, 0x64);
  test::Bytes datagram;
  EXPECT_EQ(carried(sent, datagram).header.aeth.acknowledge, Acknowledge::nak_no_responder);
}

TEST(RoceTranslate, OtherAtomicsOfDcComeBackWhole) {
  for (const AtomicKind kind : {AtomicKind::fetch_add, AtomicKind::compare_swap}) {
    Packet packet = packet_of(PacketOpcode::atomic_request);
    packet.header.service = ServiceType::dc;
    packet.header.dc_source = 7;
    packet.header.reth.length = 4;
    packet.atomic = {.kind = kind, .size = 4, .swap_add = 1, .boundary = 5};
    test::Bytes datagram;
    const Packet got = carried(packet, datagram);
    EXPECT_EQ(got.header.service, ServiceType::dc);
    EXPECT_EQ(got.header.dc_source, 7u);
    EXPECT_EQ(got.atomic.kind, kind);
    EXPECT_EQ(got.atomic.size, 4);
    EXPECT_EQ(got.atomic.boundary, 5u);
  }
}

TEST(RoceTranslate, OtherAtomicsOfXrcComeBackWhole) {
  Packet packet = packet_of(PacketOpcode::atomic_request);
  packet.header.service = ServiceType::xrc;
  packet.header.xrc_srq = 7;
  packet.header.reth.length = 4;
  packet.atomic = {.kind = AtomicKind::fetch_add, .size = 4, .swap_add = 1, .boundary = 5};
  EXPECT_EQ(to_roce(packet).opcode, 0xf4);
  test::Bytes datagram;
  const Packet got = carried(packet, datagram);
  EXPECT_EQ(got.header.service, ServiceType::xrc);
  EXPECT_EQ(got.header.xrc_srq, 7u);
  EXPECT_EQ(got.atomic.size, 4);
  EXPECT_EQ(got.atomic.boundary, 5u);
}

TEST(RoceTranslate, DatagramsComeBackWithTheirQkeyAndSender) {
  for (const PacketOpcode opcode : {PacketOpcode::send_only, PacketOpcode::send_only_imm}) {
    Packet sent = packet_of(opcode);
    sent.header.service = ServiceType::ud;
    sent.header.deth = {.qkey = 0x80112233, .source_qpn = 0xabcdef};
    test::Bytes datagram;
    const Packet got = carried(sent, datagram);
    EXPECT_EQ(got.header.service, ServiceType::ud);
    EXPECT_EQ(got.header.opcode, opcode);
    EXPECT_EQ(got.header.deth.qkey, 0x80112233u);
    EXPECT_EQ(got.header.deth.source_qpn, 0xabcdefu);
    EXPECT_EQ(got.header.payload_size, sent.header.payload_size);
    EXPECT_EQ(got.header.imm, has_immediate(opcode) ? sent.header.imm : 0);
  }
}

TEST(RoceTranslate, TheImmediatesBytesLieOnTheWireAsInTheWqe) {
  const RocePacket roce = to_roce(packet_of(PacketOpcode::send_only_imm));
  const test::Bytes datagram = test::encoded(roce, test::some_way());
  EXPECT_EQ(test::to_hex(std::span(datagram).subspan(sizeof(Bth), 4)), "01020304");
}

TEST(RoceTranslate, EachAcknowledgeHasItsSyndrome) {
  const std::pair<Aeth, std::uint8_t> rows[] = {
      {{.acknowledge = Acknowledge::ack}, 0x1f},
      {{.acknowledge = Acknowledge::rnr_nak, .rnr_timer = 12}, 0x2c},
      {{.acknowledge = Acknowledge::nak_sequence}, 0x60},
      {{.acknowledge = Acknowledge::nak_invalid_request}, 0x61},
      {{.acknowledge = Acknowledge::nak_remote_access}, 0x62},
      {{.acknowledge = Acknowledge::nak_remote_operation}, 0x63},
  };
  for (const auto& [aeth, syndrome] : rows) {
    Packet packet = packet_of(PacketOpcode::acknowledge);
    packet.header.aeth = aeth;
    EXPECT_EQ(to_roce(packet).aeth.syndrome, syndrome);
    test::Bytes datagram;
    expect_same_extension(packet, carried(packet, datagram));
  }
}

TEST(RoceTranslate, PlainAtomicsHaveTheSpecificationsOpcodes) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  Packet packet = packet_of(PacketOpcode::atomic_request);
  packet.atomic = {.kind = AtomicKind::fetch_add, .swap_add = 5};
  EXPECT_EQ(to_roce(packet).opcode, 0x14);
  packet.atomic = {.kind = AtomicKind::compare_swap, .swap_mask = kAll, .compare_mask = kAll};
  EXPECT_EQ(to_roce(packet).opcode, 0x13);
}

TEST(RoceTranslate, OtherAtomicsComeBackWhole) {
  Packet packet = packet_of(PacketOpcode::atomic_request);
  packet.header.reth.length = 4;
  packet.atomic = {.kind = AtomicKind::compare_swap,
                   .size = 4,
                   .swap_add = 1,
                   .compare = 2,
                   .swap_mask = 3,
                   .compare_mask = 4,
                   .boundary = 5};
  EXPECT_EQ(to_roce(packet).opcode, 0xd3);
  test::Bytes datagram;
  const Packet got = carried(packet, datagram);
  EXPECT_EQ(got.atomic.kind, packet.atomic.kind);
  EXPECT_EQ(got.atomic.size, packet.atomic.size);
  EXPECT_EQ(got.atomic.swap_add, packet.atomic.swap_add);
  EXPECT_EQ(got.atomic.compare, packet.atomic.compare);
  EXPECT_EQ(got.atomic.swap_mask, packet.atomic.swap_mask);
  EXPECT_EQ(got.atomic.compare_mask, packet.atomic.compare_mask);
  EXPECT_EQ(got.atomic.boundary, packet.atomic.boundary);
  expect_same_extension(packet, got);
}

TEST(RoceTranslate, WhatTheTransportDoesNotKnowIsRefusedByReason) {
  Packet packet;
  RocePacket roce = to_roce(packet_of(PacketOpcode::acknowledge));
  roce.aeth.syndrome = 0x64;
  EXPECT_EQ(from_roce(roce, packet), Unfit::syndrome);
  roce.aeth.syndrome = 0x40;
  EXPECT_EQ(from_roce(roce, packet), Unfit::syndrome);
  roce = test::full_packet(opcode_of(Transport::own, Operation::fetch_add), {});
  for (const std::uint32_t size : {0u, 3u, 0x104u}) {
    roce.masked.size = size;
    EXPECT_EQ(from_roce(roce, packet), Unfit::atomic);
  }
  for (const std::uint8_t opcode : test::opcodes()) {
    const Transport transport = transport_of(opcode);
    const bool is_taken = transport == Transport::own || transport == Transport::own_xrc ||
                          transport == Transport::uc || transport == Transport::ud ||
                          opcode == kCnpOpcode || transport == Transport::dc ||
                          ((transport == Transport::rc || transport == Transport::xrc) &&
                           (operation_of(opcode) < Operation::dc_connect ||
                            operation_of(opcode) == Operation::send_last_invalidate ||
                            operation_of(opcode) == Operation::send_only_invalidate));
    roce = test::full_packet(opcode, {});
    EXPECT_EQ(from_roce(roce, packet), is_taken ? Unfit::none : Unfit::opcode) << int{opcode};
  }
}

}  // namespace
}  // namespace gdakit::softnic::roce
