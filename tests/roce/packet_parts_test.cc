// A packet by reference as the packets by value that it stands for.
#include "backends/softnic/wire/packet_parts.h"

#include <vector>

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

using enum PacketOpcode;

// Its payload lies in fragments of these sizes, the first at 0x1000, the second at 0x2000 ...
Packet by_reference(PacketOpcode opcode, std::uint32_t psns, std::vector<std::uint64_t> sizes) {
  Packet packet;
  PacketHeader& header = packet.header;
  header.opcode = opcode;
  header.psn = 0xffffff;
  header.psns = psns;
  for (const std::uint64_t size : sizes) {
    const std::uint64_t place = 0x1000 * (std::uint64_t{header.fragment_count} + 1);
    packet.fragments[header.fragment_count++] = {{place}, size, 7};
    header.payload_size += static_cast<std::uint32_t>(size);
  }
  return packet;
}

std::vector<Packet> parts_of(const Packet& packet) {
  std::vector<Packet> parts;
  for (std::uint32_t i = 0; i < part_count(packet); ++i) parts.push_back(part_of(packet, i));
  return parts;
}

std::vector<PacketOpcode> opcodes_of(PacketOpcode whole) {
  std::vector<PacketOpcode> opcodes;
  for (const Packet& part : parts_of(by_reference(whole, 3, {700}))) {
    opcodes.push_back(part.header.opcode);
  }
  return opcodes;
}

TEST(PacketParts, APacketOfOnePsnIsItsOwnPart) {
  const Packet packet = by_reference(write_only_imm, 1, {100, 50});
  ASSERT_EQ(part_count(packet), 1u);
  const Packet part = part_of(packet, 0);
  EXPECT_EQ(part.header.opcode, write_only_imm);
  EXPECT_EQ(part.header.payload_size, 150u);
  EXPECT_EQ(part.header.fragment_count, 2);
}

TEST(PacketParts, EachPartHasTheNextPsnAndItsOwnBytes) {
  const auto parts = parts_of(by_reference(write_only, 3, {300, 400}));  // an MTU of 256
  ASSERT_EQ(parts.size(), 3u);
  const std::uint32_t psns[] = {0xffffff, 0, 1}, sizes[] = {256, 256, 188};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(parts[i].header.psn, psns[i]);
    EXPECT_EQ(parts[i].header.psns, 1u);
    EXPECT_EQ(parts[i].header.payload_size, sizes[i]);
  }
  const Packet& second = parts[1];
  ASSERT_EQ(second.header.fragment_count, 2);
  EXPECT_EQ(second.fragments[0].address, DmaAddress{0x1000 + 256});
  EXPECT_EQ(second.fragments[0].size, 44u);
  EXPECT_EQ(second.fragments[1].address, DmaAddress{0x2000});
  EXPECT_EQ(second.fragments[1].size, 212u);
  EXPECT_EQ(second.fragments[1].key, 7u);
  ASSERT_EQ(parts[2].header.fragment_count, 1);
  EXPECT_EQ(parts[2].fragments[0].address, DmaAddress{0x2000 + 212});
}

TEST(PacketParts, OpcodesSayWhereInItsMessageAPartStands) {
  using Opcodes = std::vector<PacketOpcode>;
  EXPECT_EQ(opcodes_of(write_only), (Opcodes{write_first, write_middle, write_last}));
  EXPECT_EQ(opcodes_of(write_only_imm), (Opcodes{write_first, write_middle, write_last_imm}));
  EXPECT_EQ(opcodes_of(write_first), (Opcodes{write_first, write_middle, write_middle}));
  EXPECT_EQ(opcodes_of(write_middle), (Opcodes{write_middle, write_middle, write_middle}));
  EXPECT_EQ(opcodes_of(write_last), (Opcodes{write_middle, write_middle, write_last}));
  EXPECT_EQ(opcodes_of(send_only_imm), (Opcodes{send_first, send_middle, send_last_imm}));
  EXPECT_EQ(opcodes_of(send_only_inv), (Opcodes{send_first, send_middle, send_last_inv}));
  EXPECT_EQ(opcodes_of(send_last), (Opcodes{send_middle, send_middle, send_last}));
  EXPECT_EQ(opcodes_of(read_response_only),
            (Opcodes{read_response_first, read_response_middle, read_response_last}));
  EXPECT_EQ(opcodes_of(read_response_first),
            (Opcodes{read_response_first, read_response_middle, read_response_middle}));
}

TEST(PacketParts, WhatEndsAMessageStandsInTheLastPartAlone) {
  Packet packet = by_reference(send_only_imm, 2, {512});
  packet.header.solicited = packet.header.ack_request = true;
  const auto parts = parts_of(packet);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_FALSE(parts[0].header.solicited || parts[0].header.ack_request);
  EXPECT_TRUE(parts[1].header.solicited && parts[1].header.ack_request);
}

TEST(PacketParts, ThereAreNoneOfPsnsThatDoNotFitThePayload) {
  EXPECT_EQ(part_count(by_reference(write_only, 0, {700})), 0u);
  EXPECT_EQ(part_count(by_reference(write_only, 2, {})), 0u);
  EXPECT_EQ(part_count(by_reference(write_only, 5, {6})), 0u);
  EXPECT_EQ(part_count(by_reference(write_only, ~0u, {700})), 0u);
  EXPECT_EQ(part_count(by_reference(acknowledge, 2, {700})), 0u);
  Packet by_value = by_reference(write_only, 2, {700});
  by_value.header.fragment_count = 0;
  EXPECT_EQ(part_count(by_value), 0u);
}

}  // namespace
}  // namespace gdakit::softnic
