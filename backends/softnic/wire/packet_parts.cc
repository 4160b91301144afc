#include "backends/softnic/wire/packet_parts.h"

#include <algorithm>
#include <bit>

#include "core/base/assert.h"

namespace gdakit::softnic {
namespace {

// Where payload is cut; 1 where a packet of more PSNs has no payload.
std::uint64_t psn_bytes_of(const PacketHeader& header) {
  return std::bit_ceil((std::uint64_t{header.payload_size} + header.psns - 1) / header.psns);
}

bool has_parts(PacketOpcode opcode) {
  return is_send(opcode) || is_write(opcode) || is_read_response(opcode);
}

bool begins(PacketOpcode opcode) {
  return starts_message(opcode) || opcode == PacketOpcode::read_response_first ||
         opcode == PacketOpcode::read_response_only;
}

bool ends(PacketOpcode opcode) {
  return ends_message(opcode) && opcode != PacketOpcode::read_response_first &&
         opcode != PacketOpcode::read_response_middle;
}

// Of several parts none is all of its message.
PacketOpcode part_opcode(PacketOpcode whole, bool first, bool last) {
  using enum PacketOpcode;
  const bool writes = is_write(whole);
  if (first && begins(whole)) {
    if (is_read_response(whole)) return read_response_first;
    return writes ? write_first : send_first;
  }
  if (last && ends(whole)) {
    if (is_read_response(whole)) return read_response_last;
    if (invalidates(whole)) return send_last_inv;
    if (has_immediate(whole)) return writes ? write_last_imm : send_last_imm;
    return writes ? write_last : send_last;
  }
  if (is_read_response(whole)) return read_response_middle;
  return writes ? write_middle : send_middle;
}

// Leaves of the packet's fragments those that name [offset, offset + size) of its payload.
void cut_fragments(Packet& packet, std::uint64_t offset, std::uint64_t size) {
  std::uint8_t kept = 0;
  for (std::uint8_t i = 0; i < packet.header.fragment_count; ++i) {
    const Fragment whole = packet.fragments[i];
    const std::uint64_t skipped = std::min(offset, whole.size);
    const std::uint64_t taken = std::min(size, whole.size - skipped);
    offset -= skipped;
    size -= taken;
    if (taken != 0) packet.fragments[kept++] = {whole.address + skipped, taken, whole.key};
  }
  packet.header.fragment_count = kept;
}

}  // namespace

std::uint32_t part_count(const Packet& packet) {
  const PacketHeader& header = packet.header;
  if (header.psns == 1) return 1;
  if (header.psns == 0 || header.fragment_count == 0 || !has_parts(header.opcode)) return 0;
  const std::uint64_t bytes = psn_bytes_of(header);
  const std::uint64_t psns = (header.payload_size + bytes - 1) / bytes;
  return psns == header.psns ? header.psns : 0;
}

Packet part_of(const Packet& packet, std::uint32_t index) {
  const PacketHeader& whole = packet.header;
  GDAKIT_ASSERT(index < whole.psns);
  Packet part = packet;
  if (whole.psns == 1) return part;
  const std::uint64_t bytes = psn_bytes_of(whole);
  const std::uint64_t offset = index * bytes;
  const std::uint64_t size = std::min(bytes, whole.payload_size - offset);
  const bool last = index + 1 == whole.psns;
  PacketHeader& header = part.header;
  header.opcode = part_opcode(whole.opcode, index == 0, last);
  header.psn = psn_add(whole.psn, index);
  header.psns = 1;
  header.payload_size = static_cast<std::uint32_t>(size);
  header.ack_request = whole.ack_request && last;
  header.solicited = whole.solicited && last;
  cut_fragments(part, offset, size);
  return part;
}

}  // namespace gdakit::softnic
