// What stands in a slot of the wire between processes (shm_wire.h): a packet's headers, and behind
// them a small payload or what names a long one.
//
//   | SlotHeader ... 128 | payload of up to 64 bytes, or up to 4 SlotFragments |
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/softnic/wire/packet.h"
#include "backends/softnic/wire/shm_wire.h"

namespace gdakit::softnic {

// A packet's headers in a slot, in integers alone: any bytes are a value of this type.
struct SlotHeader {
  std::uint8_t service_level;
  std::uint8_t traffic_class;
  std::uint8_t service;
  std::uint8_t opcode;
  std::uint8_t solicited;
  std::uint8_t ack_request;
  std::uint16_t pkey;
  std::uint32_t destination_qpn;
  std::uint32_t psn;
  std::uint32_t imm;
  std::uint32_t payload_size;
  std::uint8_t fragment_count;  // above 0: SlotFragments instead of a payload
  // AETH, where the opcode has one
  std::uint8_t acknowledge;
  std::uint8_t rnr_timer;
  std::uint8_t atomic_kind;
  std::uint32_t msn;
  std::uint64_t atomic_result;
  // RETH, where it has that
  std::uint64_t reth_address;  // of a connect, its key; swap_add is the connection
  std::uint32_t reth_rkey;
  std::uint32_t reth_length;
  // Of an atomic
  std::uint64_t swap_add;
  std::uint64_t compare;
  std::uint64_t swap_mask;
  std::uint64_t compare_mask;
  std::uint64_t boundary;
  std::uint32_t psns;
  std::uint32_t room;  // of a payload that is neither small nor in fragments
  std::uint8_t atomic_size;
  std::uint8_t reserved[3];
  // DETH, of datagrams
  std::uint32_t qkey;
  std::uint32_t source_qpn;
  std::uint32_t xrc_srq;    // XRCETH, of requests of XRC
  std::uint32_t dc_source;  // DCETH, of DC
};
inline constexpr std::size_t kSlotHeaderBytes = 128;
static_assert(sizeof(SlotHeader) <= kSlotHeaderBytes);

// Behind the header: a small payload, or the fragments of a long one.
inline constexpr std::size_t kSlotBytes = kSlotHeaderBytes + kSmallPayload;

// Bytes of the sender's heap.
struct SlotFragment {
  std::uint64_t offset;
  std::uint64_t size;
};
static_assert(kMaxFragments * sizeof(SlotFragment) <= kSmallPayload);
// Whether the payload lies in a room.
inline bool has_room(const PacketHeader& header) {
  return header.fragment_count == 0 && header.payload_size > kSmallPayload;
}

inline SlotHeader pack(const Packet& packet) {
  const PacketHeader& h = packet.header;
  SlotHeader slot{};
  slot.service_level = h.service_level;
  slot.traffic_class = h.traffic_class;
  slot.service = static_cast<std::uint8_t>(h.service);
  slot.opcode = static_cast<std::uint8_t>(h.opcode);
  slot.solicited = h.solicited ? 1 : 0;
  slot.ack_request = h.ack_request ? 1 : 0;
  slot.pkey = h.pkey;
  slot.destination_qpn = h.destination_qpn;
  slot.psn = h.psn;
  slot.imm = h.imm;
  slot.payload_size = h.payload_size;
  slot.psns = h.psns;
  slot.fragment_count = h.fragment_count;
  slot.xrc_srq = h.xrc_srq;
  slot.dc_source = h.dc_source;
  if (h.service == ServiceType::ud) {
    slot.qkey = h.deth.qkey;
    slot.source_qpn = h.deth.source_qpn;
  } else if (extension_of(h.opcode) == ExtensionKind::aeth) {
    slot.acknowledge = static_cast<std::uint8_t>(h.aeth.acknowledge);
    slot.rnr_timer = h.aeth.rnr_timer;
    slot.msn = h.aeth.msn;
    slot.atomic_result = h.aeth.atomic_result;
  } else if (extension_of(h.opcode) == ExtensionKind::reth) {
    slot.reth_address = h.reth.address;
    slot.reth_rkey = h.reth.rkey;
    slot.reth_length = h.reth.length;
  } else if (extension_of(h.opcode) == ExtensionKind::dcceth) {
    slot.reth_address = h.dcceth.access_key;
    slot.swap_add = h.dcceth.connection;
  }
  if (h.opcode == PacketOpcode::atomic_request) {
    slot.atomic_kind = static_cast<std::uint8_t>(packet.atomic.kind);
    slot.atomic_size = packet.atomic.size;
    slot.swap_add = packet.atomic.swap_add;
    slot.compare = packet.atomic.compare;
    slot.swap_mask = packet.atomic.swap_mask;
    slot.compare_mask = packet.atomic.compare_mask;
    slot.boundary = packet.atomic.boundary;
  }
  return slot;
}

// False: no NIC of this version has written that.
inline bool is_sane(const SlotHeader& slot, const ShmLayout& layout) {
  const std::uint32_t most = slot.fragment_count != 0 ? layout.options().mtu : layout.value_mtu();
  const bool is_atomic = slot.opcode == static_cast<std::uint8_t>(PacketOpcode::atomic_request);
  const std::uint8_t most_fragments = is_atomic ? 0 : kMaxFragments;
  return slot.service < static_cast<std::uint8_t>(ServiceType::count) &&
         slot.opcode < static_cast<std::uint8_t>(PacketOpcode::count) &&
         slot.acknowledge < static_cast<std::uint8_t>(Acknowledge::count) &&
         slot.atomic_kind <= static_cast<std::uint8_t>(AtomicKind::compare_swap) &&
         slot.fragment_count <= most_fragments && slot.payload_size <= most &&
         slot.psn <= kPsnMask && slot.room < layout.rooms();
}

inline AtomicRequest unpack_atomic(const SlotHeader& slot) {
  AtomicRequest atomic;
  atomic.kind = static_cast<AtomicKind>(slot.atomic_kind);
  atomic.size = slot.atomic_size;
  atomic.swap_add = slot.swap_add;
  atomic.compare = slot.compare;
  atomic.swap_mask = slot.swap_mask;
  atomic.compare_mask = slot.compare_mask;
  atomic.boundary = slot.boundary;
  return atomic;
}

// Of a slot that is sane.
inline void unpack(const SlotHeader& slot, Packet& packet) {
  packet.payload = nullptr;
  PacketHeader& h = packet.header = {};
  h.service_level = slot.service_level;
  h.traffic_class = slot.traffic_class;
  h.service = static_cast<ServiceType>(slot.service);
  h.opcode = static_cast<PacketOpcode>(slot.opcode);
  h.solicited = slot.solicited != 0;
  h.ack_request = slot.ack_request != 0;
  h.pkey = slot.pkey;
  h.destination_qpn = slot.destination_qpn;
  h.psn = slot.psn;
  h.imm = slot.imm;
  h.payload_size = slot.payload_size;
  h.psns = slot.psns;
  h.fragment_count = slot.fragment_count;
  h.xrc_srq = slot.xrc_srq;
  h.dc_source = slot.dc_source;
  if (h.service == ServiceType::ud) {
    h.deth = {slot.qkey, slot.source_qpn};
  } else if (extension_of(h.opcode) == ExtensionKind::aeth) {
    h.aeth = {slot.atomic_result, slot.msn, static_cast<Acknowledge>(slot.acknowledge),
              slot.rnr_timer};
  } else if (extension_of(h.opcode) == ExtensionKind::dcceth) {
    h.dcceth = {slot.reth_address, slot.swap_add};
  } else {
    h.reth = {slot.reth_address, slot.reth_rkey, slot.reth_length};
  }
  if (h.opcode == PacketOpcode::atomic_request) packet.atomic = unpack_atomic(slot);
}

}  // namespace gdakit::softnic
