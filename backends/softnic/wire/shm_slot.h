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
  std::uint8_t opcode;
  std::uint8_t acknowledge;
  std::uint8_t rnr_timer;
  std::uint8_t solicited;
  std::uint8_t atomic_kind;
  std::uint8_t atomic_size;
  std::uint8_t fragment_count;  // above 0: SlotFragments instead of a payload
  std::uint8_t reserved;
  std::uint32_t psn;
  std::uint32_t destination_qpn;
  std::uint32_t source_qpn;
  std::uint32_t imm;
  std::uint32_t payload_size;
  std::uint32_t reth_rkey;
  std::uint64_t reth_address;
  std::uint64_t reth_length;
  std::uint64_t atomic_result;
  std::uint64_t swap_add;
  std::uint64_t compare;
  std::uint64_t swap_mask;
  std::uint64_t compare_mask;
  std::uint64_t boundary;
  std::uint32_t room;  // of a payload that is neither small nor in fragments
  std::uint32_t reserved2;
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
  slot.opcode = static_cast<std::uint8_t>(h.opcode);
  slot.acknowledge = static_cast<std::uint8_t>(h.acknowledge);
  slot.rnr_timer = h.rnr_timer;
  slot.solicited = h.solicited ? 1 : 0;
  slot.atomic_kind = static_cast<std::uint8_t>(packet.atomic.kind);
  slot.atomic_size = packet.atomic.size;
  slot.fragment_count = h.fragment_count;
  slot.psn = h.psn;
  slot.destination_qpn = h.destination_qpn;
  slot.source_qpn = h.source_qpn;
  slot.imm = h.imm;
  slot.payload_size = h.payload_size;
  slot.reth_rkey = h.reth_rkey;
  slot.reth_address = h.reth_address;
  slot.reth_length = h.reth_length;
  slot.atomic_result = h.atomic_result;
  slot.swap_add = packet.atomic.swap_add;
  slot.compare = packet.atomic.compare;
  slot.swap_mask = packet.atomic.swap_mask;
  slot.compare_mask = packet.atomic.compare_mask;
  slot.boundary = packet.atomic.boundary;
  return slot;
}

// False: no NIC of this version has written that.
inline bool unpack(const SlotHeader& slot, const ShmLayout& layout, Packet& packet) {
  const std::uint32_t most = slot.fragment_count != 0 ? layout.options().mtu : layout.value_mtu();
  if (slot.opcode >= static_cast<std::uint8_t>(PacketOpcode::count) ||
      slot.acknowledge >= static_cast<std::uint8_t>(Acknowledge::count) ||
      slot.atomic_kind > static_cast<std::uint8_t>(AtomicKind::compare_swap) ||
      slot.fragment_count > kMaxFragments || slot.payload_size > most || slot.psn > kPsnMask ||
      slot.room >= layout.rooms()) {
    return false;
  }
  packet = Packet{};
  PacketHeader& h = packet.header;
  h.opcode = static_cast<PacketOpcode>(slot.opcode);
  h.acknowledge = static_cast<Acknowledge>(slot.acknowledge);
  h.rnr_timer = slot.rnr_timer;
  h.solicited = slot.solicited != 0;
  h.fragment_count = slot.fragment_count;
  h.psn = slot.psn;
  h.destination_qpn = slot.destination_qpn;
  h.source_qpn = slot.source_qpn;
  h.imm = slot.imm;
  h.payload_size = slot.payload_size;
  h.reth_rkey = slot.reth_rkey;
  h.reth_address = slot.reth_address;
  h.reth_length = slot.reth_length;
  h.atomic_result = slot.atomic_result;
  packet.atomic.kind = static_cast<AtomicKind>(slot.atomic_kind);
  packet.atomic.size = slot.atomic_size;
  packet.atomic.swap_add = slot.swap_add;
  packet.atomic.compare = slot.compare;
  packet.atomic.swap_mask = slot.swap_mask;
  packet.atomic.compare_mask = slot.compare_mask;
  packet.atomic.boundary = slot.boundary;
  return true;
}

}  // namespace gdakit::softnic
