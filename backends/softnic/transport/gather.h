// A message on its way out: how far its payload has been sent, and which opcodes its packets have.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/softnic/queues/request.h"
#include "backends/softnic/transport/payload.h"
#include "backends/softnic/wire/packet.h"

namespace gdakit::softnic {

// A place in the payload of a request whose memory has been found.
struct Gather {
  std::uint32_t sge = 0;
  std::uint64_t offset = 0;  // in that
  std::uint64_t sent_bytes = 0;

  void advance(const Request& request, std::uint64_t size) {
    sent_bytes += size;
    while (size != 0) {
      const std::uint64_t piece = std::min(size, request.sges[sge].size - offset);
      offset += piece;
      size -= piece;
      if (offset == request.sges[sge].size) {
        ++sge;
        offset = 0;
      }
    }
  }

  // Calls `use` for each piece of the request's next `size` bytes, or of all that are left, until
  // it returns false. A fault: the next piece is another key's, which does not let the NIC read it.
  template <class Use>
  KeyFault walk(const KeyTable& keys, const QpCommon& qp, const Request& request,
                std::uint64_t size, const Use& use) const {
    std::uint64_t room = std::min(size, request.length - sent_bytes);
    std::uint64_t at = offset;
    for (std::uint32_t i = sge; room != 0; ++i) {
      const Sge& part = request.sges[i];
      const std::uint64_t end = at + std::min(room, part.size - at);
      room -= end - at;
      while (at != end) {
        MemoryRange piece{part.place + at, end - at};
        MemoryKey key = part.lkey;
        if (part.in_pieces) {
          const KeyUse lookup{part.lkey, qp.attributes.pd, qp.number, Access::local_read};
          const Translation found = lookup.translate(keys, part.iova + at, end - at);
          if (found.fault != KeyFault::none) return found.fault;
          piece = found.piece;
          if (found.region != 0) key = found.region;
        }
        if (!use(Fragment{piece.base, piece.length, key})) return KeyFault::none;
        at += piece.length;
      }
      at = 0;
    }
    return KeyFault::none;
  }
};

// Of a message's packet, by its place in it.
constexpr PacketOpcode data_opcode(const Request& request, bool first, bool last) {
  const bool writes = request.kind == RequestKind::write;
  if (!last) {
    if (first) return writes ? PacketOpcode::write_first : PacketOpcode::send_first;
    return writes ? PacketOpcode::write_middle : PacketOpcode::send_middle;
  }
  if (request.has_imm) {
    if (request.invalidates) {
      return first ? PacketOpcode::send_only_inv : PacketOpcode::send_last_inv;
    }
    if (first) return writes ? PacketOpcode::write_only_imm : PacketOpcode::send_only_imm;
    return writes ? PacketOpcode::write_last_imm : PacketOpcode::send_last_imm;
  }
  if (first) return writes ? PacketOpcode::write_only : PacketOpcode::send_only;
  return writes ? PacketOpcode::write_last : PacketOpcode::send_last;
}

}  // namespace gdakit::softnic
