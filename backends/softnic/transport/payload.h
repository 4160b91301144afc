// Packets and their payload: sent by Core::send, handed out where they arrive.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/softnic/transport/core.h"

namespace gdakit::softnic {

// A packet to the peer with the fields that all kinds share.
Packet make_packet(const Connection& connection, PacketOpcode opcode, std::uint32_t psn);

// Whose memory a payload lies in or goes to, and with what right.
struct KeyUse {
  MemoryKey key = 0;
  PdNumber pd = 0;
  QpNumber qpn = 0;
  Access wanted = Access::none;

  Translation translate(const KeyTable& keys, std::uint64_t iova, std::uint64_t size) const {
    return keys.translate(key, pd, qpn, iova, size, wanted);
  }
  KeyFault check_pieces(const KeyTable& keys, std::uint64_t iova, std::uint64_t size) const {
    return keys.check_pieces(key, pd, qpn, iova, size, wanted);
  }
};

// In place of a packet's number of fragments: Core::pieces are more than it can name.
inline constexpr std::uint8_t kGathered = kMaxFragments + 1;

// Notes the pieces of the next PSN, to be gathered.
template <class Walk>
void gather_payload(Core& core, std::uint32_t psn_bytes, std::uint64_t left, const Walk& walk,
                    Packet& packet) {
  const std::uint64_t size = std::min<std::uint64_t>(psn_bytes, left);
  core.pieces.clear();
  walk(size, [&](const Fragment& piece) {
    core.pieces.push_back(piece);
    return true;
  });
  packet.header.payload_size = static_cast<std::uint32_t>(size);
  packet.header.fragment_count = kGathered;
}

// Where in its message a packet stands.
enum class Place : std::uint8_t { alone, last, before_last };
constexpr Place place_of(PacketOpcode opcode) {
  if (!ends_message(opcode)) return Place::before_last;
  return starts_message(opcode) ? Place::alone : Place::last;
}

// Whether a payload is cut as on this connection: into whole PSNs, unless it is a message's last,
// which alone may be empty if it is all of it; by value each PSN has a packet. A peer whose path
// has another MTU cuts otherwise.
inline bool is_cut_right(const Connection& connection, const PacketHeader& header, Place place) {
  const std::uint32_t size = header.payload_size;
  const bool by_value = header.fragment_count == 0;
  if (header.psns != connection.psns_of(size) || (by_value && header.psns != 1)) return false;
  if (size == 0) return place == Place::alone;
  return place != Place::before_last || size % connection.psn_bytes == 0;
}

// Names the payload of the connection's next packet: of as many PSNs as its way allows, each of
// psn_bytes, but for the last of all `left` bytes. So a PSN stands for the same bytes whenever it
// is sent. If the next PSN lies in more pieces than a packet names, it is to be gathered by
// Core::send.
//
// walk(size, use) calls use(fragment) for each piece of the next `size` bytes in turn, until that
// returns false.
template <class Walk>
void name_payload(Core& core, const Connection& connection, std::uint64_t left, const Walk& walk,
                  Packet& packet) {
  const std::uint32_t psn_bytes = connection.psn_bytes;
  PacketHeader& header = packet.header;
  const auto name = [&](std::uint64_t limit) {
    header.fragment_count = 0;
    header.payload_size = 0;
    walk(std::min(limit, left), [&](const Fragment& piece) {
      if (header.fragment_count == kMaxFragments) return false;
      packet.fragments[header.fragment_count++] = piece;
      header.payload_size += static_cast<std::uint32_t>(piece.size);
      return true;
    });
    return std::uint64_t{header.payload_size};
  };
  const std::uint64_t size = name(connection.longest);
  if (size == left && size <= psn_bytes) return;
  const std::uint64_t whole = size == left ? size : size - size % psn_bytes;
  if (whole == 0) {
    gather_payload(core, psn_bytes, left, walk, packet);
    return;
  }
  if (whole != size) name(whole);
  if (whole > psn_bytes && !core.wire.by_reference(packet)) name(psn_bytes);
}

// Hands out a packet's payload from first byte to last.
class PayloadReader {
 public:
  explicit PayloadReader(const Packet& packet) : packet_(packet) {}
  // Moves the next `size` bytes to the memory from `iova` on; `last` becomes the last of the
  // operations, if there is one. `ends`: they end a message whose last byte is to be seen last. A
  // fault has moved nothing, but for `absent`. Without bytes the key is not looked at.
  KeyFault move_to(Core& core, const KeyUse& use, std::uint64_t iova, std::uint64_t size,
                   DmaOp& last, bool ends = false) {
    if (size == 0) return KeyFault::none;
    const Translation found = use.translate(core.keys, iova, size);
    if (found.fault != KeyFault::none) return found.fault;
    if (found.piece.length != size) return move_pieces(core, use, iova, size, last, ends);
    if (is_on_demand(found.piece.base)) return move_on_demand(found.piece.base, size);
    const DmaOp moved = move_piece(core, found.piece.base, size, ends);
    if (moved.id != 0) last = moved;
    return KeyFault::none;
  }

 private:
  KeyFault move_pieces(Core& core, const KeyUse& use, std::uint64_t iova, std::uint64_t size,
                       DmaOp& last, bool ends);
  KeyFault move_on_demand(DmaAddress to, std::uint64_t size);
  DmaOp move_piece(Core& core, DmaAddress to, std::uint64_t size, bool ends);

  const Packet& packet_;
  std::uint32_t fragment_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace gdakit::softnic
