// Packets for tests of the codec.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/softnic/wire/roce_packet.h"

namespace gdakit::softnic::roce::test {

using Bytes = std::vector<std::uint8_t>;

inline std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

inline Bytes encoded(const RocePacket& packet, const UdpWay& way) {
  Bytes out(size_of(packet));
  encode(packet, way, out);
  return out;
}

// All that there are.
inline std::vector<std::uint8_t> opcodes() {
  std::vector<std::uint8_t> all;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const auto code = static_cast<std::uint8_t>(opcode);
    if (extensions_of(code)) all.push_back(code);
  }
  return all;
}

// All that an opcode may carry, different in each field.
inline RocePacket full_packet(std::uint8_t opcode, std::span<const std::uint8_t> payload) {
  RocePacket packet;
  packet.opcode = opcode;
  packet.ack_request = true;
  packet.pkey = 0x8123;
  packet.destination_qpn = 0x456789;
  packet.psn = 0xabcdef;
  packet.flush = 0x21;
  packet.deth = {0x11223344, 0x556677};
  packet.dc_qpn = 0x998877;
  packet.dc_connect = {0x8182838485868788, 0x9192939495969798};
  packet.xrc_srq = 0x123456;
  packet.reth = {0x0102030405060708, 0xa1a2a3a4, 0x01000002};
  packet.atomic = {0x1112131415161718, 0xb1b2b3b4, 0x2122232425262728, 0x3132333435363738};
  packet.aeth = {0x1f, 0x654321};
  packet.atomic_original = 0x4142434445464748;
  packet.imm = 0xc1c2c3c4;
  packet.invalidate = 0xd1d2d3d4;
  packet.masked = {4, 0x5152535455565758, 0x6162636465666768, 0x7172737475767778};
  packet.payload = payload;
  return packet;
}

inline UdpWay some_way() {
  UdpWay way;
  way.source.bytes = {10, 0, 0, 1};
  way.destination.bytes = {10, 0, 0, 2};
  way.source_port = 0xc123;
  return way;
}

}  // namespace gdakit::softnic::roce::test
