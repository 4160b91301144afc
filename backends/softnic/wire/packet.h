// What goes over a wire: the way it takes, InfiniBand's base transport header (BTH), one extension
// that depends on the opcode, and a payload, by value or by reference.
//
//   RETH   what starts a WRITE, READ requests, atomic requests (whose operation is Packet::atomic)
//   AETH   acknowledges, READ responses, atomic responses
//   DETH   datagrams: all packets of service type UD
//   none   all others
//   XRCETH beside that, requests of service type XRC: PacketHeader::xrc_srq
//   DCETH  beside that, all packets of service type DC: PacketHeader::dc_source
//   DCCETH connects of DC
//
//   by value        `payload` points to header.payload_size bytes
//   by reference    fragments[0 .. header.fragment_count) say where the bytes lie, in memory
//                   that the receiver's DMA port reaches too; the sender keeps them until the
//                   transport has its answer
//
// What a packet's header does not tell of is not set: one is made for each 8-byte put.
#pragma once

#include <cstdint>

#include "backends/softnic/dma/atomics.h"
#include "backends/softnic/objects/attributes.h"

namespace gdakit::softnic {

enum class PacketOpcode : std::uint8_t {
  send_first,
  send_middle,
  send_last,
  send_last_imm,
  send_only,
  send_only_imm,
  send_last_inv,  // of RC alone
  send_only_inv,
  write_first,
  write_middle,
  write_last,
  write_last_imm,
  write_only,
  write_only_imm,
  read_request,
  read_response_first,
  read_response_middle,
  read_response_last,
  read_response_only,
  acknowledge,
  atomic_acknowledge,
  atomic_request,
  congestion_notification,  // CNP: no PSN; its payload is kCnpPayload
  // Of DC alone, and of no PSN of their own: the first request of a connection has the connect's.
  dc_connect,
  dc_disconnect,
  count,
};

// What an acknowledge says (the AETH syndrome).
enum class Acknowledge : std::uint8_t {
  ack,
  rnr_nak,              // no receive WQE; try again after the RNR timer
  nak_sequence,         // a packet is missing; send again from this PSN
  nak_invalid_request,  // the rest are fatal
  nak_remote_access,
  nak_remote_operation,
  // Of DC (CNAK): there is no responder for the connection that the MSN says, or none any more.
  // What was asked for before this PSN has been done, and nothing from it on.
  nak_no_responder,
  count,
};

inline constexpr std::uint32_t kMaxFragments = 4;
inline constexpr std::uint32_t kSmallPayload = 64;  // bytes that every wire carries by value
inline constexpr std::uint8_t kCnpPayload[16] = {};

// Explicit congestion notification: the traffic class's lower two bits. A network whose queues grow
// long marks packets whose sender says that it can be told (ECT); all others it loses.
inline constexpr std::uint8_t kEcnMask = 3, kEcnCapable = 2, kEcnMarked = 3;

struct Fragment {
  DmaAddress address;
  std::uint64_t size = 0;
  MemoryKey key = 0;  // of the sender's, by which it found the bytes; 0: they lie in its send queue
};

// RDMA extended transport header.
struct Reth {
  std::uint64_t address = 0;
  MemoryKey rkey = 0;
  std::uint32_t length = 0;  // bytes of the whole message, or that a READ asks for
};

// ACK extended transport header, and behind it what an atomic found.
struct Aeth {
  std::uint64_t atomic_result = 0;  // the word before the operation, with atomic_acknowledge
  std::uint32_t msn = 0;            // messages completed, 24 bits; this NIC's requester needs none
  Acknowledge acknowledge = Acknowledge::ack;
  std::uint8_t rnr_timer = 0;  // code, with rnr_nak
};

// Datagram extended transport header.
struct Deth {
  std::uint32_t qkey = 0;
  QpNumber source_qpn = 0;
};

// DC connect extended transport header. What its bytes mean is not public: this is gdakit's own.
struct Dcceth {
  std::uint64_t access_key = 0;
  std::uint64_t connection = 0;  // the initiator's number for it, larger than those before
};

struct PacketHeader {
  PacketHeader() : reth() {}

  // The way: what link, network or IP headers carry.
  Endpoint destination = 0;
  Endpoint source = 0;
  std::uint8_t service_level = 0;  // 4 bits
  std::uint8_t traffic_class = 0;  // with the bits of ECN

  // BTH
  ServiceType service = ServiceType::rc;
  PacketOpcode opcode = PacketOpcode::acknowledge;
  bool solicited = false;
  bool ack_request = false;
  PartitionKey pkey = kDefaultPartition;
  QpNumber destination_qpn = 0;
  std::uint32_t psn = 0;  // 24 bits

  std::uint32_t imm = 0;  // or, where the packet invalidates one, the key
  std::uint32_t payload_size = 0;
  std::uint32_t psns = 1;  // that it takes: more than one by reference alone
  SrqNumber xrc_srq = 0;   // a request of XRC: the receiver's shared receive queue
  std::uint8_t fragment_count = 0;
  QpNumber dc_source = 0;  // of DC: the sender's DCI or DCT

  // A datagram's is deth, any other packet's the one that extension_of(opcode) says.
  union {
    Reth reth;
    Aeth aeth;
    Deth deth;
    Dcceth dcceth;
  };
};
static_assert(sizeof(PacketHeader) <= 64);

struct Packet {
  Packet() {}

  PacketHeader header;
  union {
    AtomicRequest atomic;  // with atomic_request, which has no payload
    Fragment fragments[kMaxFragments];
  };
  const std::uint8_t* payload = nullptr;
  // On the side that sends: by which queue pair and, of a request, for which WQE (the low half of
  // its index). They do not travel.
  QpNumber sender = 0;
  std::uint32_t wqe = 0;
};

// Whether some of its payload lies where there may be no memory, which a peer cannot find out: it
// is carried by value.
inline bool has_on_demand(const Packet& packet) {
  for (std::uint8_t i = 0; i < packet.header.fragment_count; ++i) {
    if (is_on_demand(packet.fragments[i].address)) return true;
  }
  return false;
}

constexpr bool is_response(PacketOpcode opcode) {
  return opcode >= PacketOpcode::read_response_first && opcode <= PacketOpcode::atomic_acknowledge;
}
constexpr bool is_marked(const PacketHeader& header) {
  return (header.traffic_class & kEcnMask) == kEcnMarked;
}
// Marks a packet of this class, if it can be.
constexpr bool mark(std::uint8_t& traffic_class) {
  const bool can_be = (traffic_class & kEcnMask) != 0;
  if (can_be) traffic_class |= kEcnMarked;
  return can_be;
}
enum class ExtensionKind : std::uint8_t { none, reth, aeth, dcceth };
constexpr ExtensionKind extension_of(PacketOpcode opcode) {
  const bool has_reth = opcode == PacketOpcode::write_first || opcode == PacketOpcode::write_only ||
                        opcode == PacketOpcode::write_only_imm ||
                        opcode == PacketOpcode::read_request ||
                        opcode == PacketOpcode::atomic_request;
  if (has_reth) return ExtensionKind::reth;
  if (opcode == PacketOpcode::dc_connect) return ExtensionKind::dcceth;
  return is_response(opcode) ? ExtensionKind::aeth : ExtensionKind::none;
}
constexpr bool is_read_response(PacketOpcode opcode) {
  return opcode >= PacketOpcode::read_response_first && opcode <= PacketOpcode::read_response_only;
}
constexpr bool is_send(PacketOpcode opcode) { return opcode <= PacketOpcode::send_only_inv; }
constexpr bool is_write(PacketOpcode opcode) {
  return opcode >= PacketOpcode::write_first && opcode <= PacketOpcode::write_only_imm;
}
constexpr bool starts_message(PacketOpcode opcode) {
  return opcode == PacketOpcode::send_first || opcode == PacketOpcode::send_only ||
         opcode == PacketOpcode::send_only_imm || opcode == PacketOpcode::send_only_inv ||
         opcode == PacketOpcode::write_first || opcode == PacketOpcode::write_only ||
         opcode == PacketOpcode::write_only_imm;
}
constexpr bool ends_message(PacketOpcode opcode) {
  return opcode != PacketOpcode::send_first && opcode != PacketOpcode::send_middle &&
         opcode != PacketOpcode::write_first && opcode != PacketOpcode::write_middle;
}
constexpr bool has_immediate(PacketOpcode opcode) {
  return opcode == PacketOpcode::send_last_imm || opcode == PacketOpcode::send_only_imm ||
         opcode == PacketOpcode::write_last_imm || opcode == PacketOpcode::write_only_imm;
}

// A SEND that ends one of the receiver's keys.
constexpr bool invalidates(PacketOpcode opcode) {
  return opcode == PacketOpcode::send_last_inv || opcode == PacketOpcode::send_only_inv;
}

// Packet sequence numbers: 24 bits, modulo 2^24.
inline constexpr std::uint32_t kPsnMask = 0xffffff;
constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint32_t count) {
  return (psn + count) & kPsnMask;
}
// How far `a` is ahead of `b`: -2^23 .. 2^23 - 1.
constexpr std::int32_t psn_distance(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>((a - b) << 8) >> 8;
}

// Message sequence numbers: 24 bits, too.
inline constexpr std::uint32_t kMsnMask = 0xffffff;

}  // namespace gdakit::softnic
