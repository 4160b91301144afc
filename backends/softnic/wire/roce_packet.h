// A RoCEv2 packet, taken apart and put together.
//
// decode() takes a datagram of a UDP socket, from the BTH to the ICRC; encode() makes one. Neither
// knows queue pairs: whether a packet fits its connection is the transport's business.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/wire/packet.h"
#include "backends/softnic/wire/roce_headers.h"
#include "backends/softnic/wire/roce_icrc.h"

namespace gdakit::softnic::roce {

struct AtomicEth {
  std::uint64_t address = 0;
  MemoryKey rkey = 0;
  std::uint64_t swap_add = 0;  // what is swapped in or added
  std::uint64_t compare = 0;
};

// Of Transport::own.
struct MaskedEth {
  std::uint32_t size = 8;
  std::uint64_t swap_mask = 0;
  std::uint64_t compare_mask = 0;
  std::uint64_t boundary = 0;
};

// The syndrome is kind[7:5] and a credit, timer or error code[4:0].
struct AethBits {
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;  // 24 bits
};

// Fields of headers that extensions_of(opcode, solicited) does not name mean nothing.
struct RocePacket {
  // BTH
  std::uint8_t opcode = 0;
  bool solicited = false;
  bool migrated = true;  // as ConnectX sends it, but in CNPs; nobody looks at it
  bool fecn = false;     // congestion on the way here, and back
  bool becn = false;
  bool ack_request = false;
  PartitionKey pkey = kDefaultPartition;
  QpNumber destination_qpn = 0;
  std::uint32_t psn = 0;  // 24 bits

  std::uint32_t flush = 0;  // FETH: placement[3:0] selectivity[5:4]
  Deth deth;
  // DCETH: the sender's DCI or DCT. What its other bytes hold is not public; they are sent as 0.
  QpNumber dc_qpn = 0;
  Dcceth dc_connect;
  QpNumber xrc_srq = 0;
  Reth reth;
  AtomicEth atomic;
  AethBits aeth;
  std::uint64_t atomic_original = 0;
  std::uint32_t imm = 0;  // as its four bytes lie in memory
  MemoryKey invalidate = 0;
  MaskedEth masked;

  std::span<const std::uint8_t> payload;
};

// Why a datagram is no packet, in the order of the checks.
enum class Damage : std::uint8_t {
  none,
  length,  // no multiple of four bytes, too short for its headers, more than IP carries
  icrc,
  version,
  opcode,
  padding,  // more than there is payload
  payload,  // not of payload_limits(opcode)
  count,
};

// The payload lies in the datagram. Of a damaged one `packet` says nothing.
Damage decode(std::span<const std::uint8_t> datagram, const UdpWay& way, RocePacket& packet);
// With the CRC's start for the datagram's size, and with `numbers` also as a packet that was
// numbered on its way.
Damage decode(std::span<const std::uint8_t> datagram, Icrc start, RocePacket& packet,
              IcrcNumbers* numbers = nullptr);

// From the BTH to the ICRC, in bytes. The opcode is one that there is, the payload within its
// limits, and all of it no more than kMaxPacketBytes.
std::size_t size_of(const RocePacket& packet);
// Writes the packet to the first size_of(packet) bytes of `out`, in which its payload does not lie.
// Returns how many they are.
std::size_t encode(const RocePacket& packet, const UdpWay& way, std::span<std::uint8_t> out);
// With the CRC's start for the packet's size, which `out` has.
void encode(const RocePacket& packet, Icrc start, std::span<std::uint8_t> out);

}  // namespace gdakit::softnic::roce
