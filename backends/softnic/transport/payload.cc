#include "backends/softnic/transport/payload.h"

#include "backends/softnic/dma/on_demand.h"
#include "core/base/assert.h"

namespace gdakit::softnic {

bool Core::send_now(Connection& connection, const Packet& packet) {
  if (port.lost()) return false;
  if (!wire.send(packet)) return connection.loses_unsent;
  QueueCounters& counted = connection.qp.counters;
  ++counted.packets_sent;
  if (connection.over_udp) ++counted.udp_packets_sent;
  counted.bytes_sent += packet.header.payload_size;
  return true;
}

bool Core::send(Connection& connection, Packet& packet) {
  if (!send_or_keep(connection, packet)) return false;
  Congestion* const congestion = connection.congestion.get();
  if (congestion != nullptr && is_paced(packet.header.opcode)) {
    congestion->sent(packet.header.opcode, packet.header.payload_size, now_ns);
  }
  return true;
}

bool Core::send_or_keep(Connection& connection, Packet& packet) {
  const std::uint8_t fragments = packet.header.fragment_count;
  if (fragments == kGathered) return send_by_value(connection, packet, pieces);
  if (fragments != 0 && !wire.by_reference(packet)) {
    return send_by_value(connection, packet, {packet.fragments, fragments});
  }
  if (connection.outbox.empty()) return send_now(connection, packet);
  if (packet.header.payload_size != 0 || !has_room(connection, packet)) return false;
  // An acknowledge does not wait until the outbox is empty: under a stream of payload by value it
  // may never be.
  connection.outbox.push().packet = packet;
  return true;
}

// Requests leave room for an answer, which the peer may wait for.
bool Core::has_room(const Connection& connection, const Packet& packet) {
  if (is_response(packet.header.opcode)) return !connection.outbox.full();
  const std::uint64_t used = connection.outbox.tail() - connection.outbox.head();
  return !connection.ends && used + 1 < kOutbox;
}

// What the pieces of on-demand regions hold. False: some of it is not there.
bool Core::read_on_demand_pieces(std::uint8_t* buffer, std::span<const Fragment> from) {
  for (const Fragment& piece : from) {
    const bool read =
        !is_on_demand(piece.address) || read_on_demand(buffer, piece.address, piece.size);
    if (!read) return false;
    buffer += piece.size;
  }
  return true;
}

bool Core::send_by_value(Connection& connection, Packet& packet, std::span<const Fragment> from) {
  GDAKIT_ASSERT(packet.header.payload_size <= value_mtu);
  if (!has_room(connection, packet)) return false;
  std::uint8_t* buffer = buffers_.take();
  if (buffer == nullptr) return false;
  // Before any read is under way, which would have to be waited for.
  if (!read_on_demand_pieces(buffer, from)) {
    buffers_.give_back(buffer);
    absent_ = true;
    return false;
  }
  std::uint64_t at = 0;
  DmaOp op;
  for (const Fragment& fragment : from) {
    if (!is_on_demand(fragment.address)) {
      const DmaOp read = port.read(buffer + at, fragment.address, fragment.size);
      if (read.id != 0) op = read;
    }
    at += fragment.size;
  }
  // Reads have no order even on an ordered port.
  if (op.id != 0) op = port.read_fence();
  packet.header.fragment_count = 0;
  packet.payload = buffer;
  if (op.id == 0 && connection.outbox.empty()) {
    // Without room the payload is read again later: a peer that takes nothing must not keep buffers
    // from others.
    const bool sent = send_now(connection, packet);
    buffers_.give_back(buffer);
    return sent;
  }
  Outgoing& outgoing = connection.outbox.push();
  outgoing.packet = packet;
  outgoing.buffer = buffer;
  outgoing.op = op;
  return true;
}

Turn Core::drain_outbox(Connection& connection, bool may_lose) {
  Turn turn;
  while (!connection.outbox.empty()) {
    Outgoing& outgoing = connection.outbox.front();
    // A queue pair that has failed sends nothing any more, and must not keep buffers from others.
    const bool gone = done(outgoing.op) && (connection.qp.state == QpState::err ||
                                            send_now(connection, outgoing.packet) || may_lose);
    if (!gone) {
      turn.pending = true;
      break;
    }
    if (outgoing.buffer != nullptr) buffers_.give_back(outgoing.buffer);
    connection.outbox.pop();
    turn.worked = true;
  }
  return turn;
}

// It has no place among the connection's packets, and does not wait behind those in the outbox.
Turn Core::send_cnp(Connection& connection) {
  Congestion& congestion = *connection.congestion;
  const bool may_go = congestion.cnp_due && now_ns >= congestion.next_cnp_ns;
  if (!may_go || connection.qp.state == QpState::err) return {};
  Packet packet = make_packet(connection, PacketOpcode::congestion_notification, 0);
  packet.header.pkey = kDefaultPartition;
  packet.header.payload_size = sizeof kCnpPayload;
  packet.payload = kCnpPayload;
  if (!send_now(connection, packet)) return {.pending = true};
  ++connection.qp.counters.np_cnp_sent;
  congestion.cnp_due = false;
  congestion.next_cnp_ns = now_ns + kCnpIntervalNs;
  return {.worked = true};
}

void Core::give_back_buffers(Connection& connection) {
  for (; !connection.outbox.empty(); connection.outbox.pop()) {
    std::uint8_t* const buffer = connection.outbox.front().buffer;
    if (buffer != nullptr) buffers_.give_back(buffer);
  }
}

Packet make_packet(const Connection& connection, PacketOpcode opcode, std::uint32_t psn) {
  Packet packet;
  const Path& path = connection.qp.settings.path;
  packet.sender = connection.qp.number;
  PacketHeader& header = packet.header;
  header.destination = path.endpoint;
  header.service_level = path.service_level;
  header.traffic_class = path.traffic_class;
  if (connection.congestion != nullptr) {
    const std::uint8_t ecn = is_paced(opcode) ? kEcnCapable : std::uint8_t{0};
    header.traffic_class = static_cast<std::uint8_t>((path.traffic_class & ~kEcnMask) | ecn);
  }
  header.service = connection.qp.attributes.service;
  header.opcode = opcode;
  header.pkey = path.pkey;
  header.destination_qpn = connection.remote_qpn;
  header.dc_source = connection.qp.number;
  header.psn = psn;
  return packet;
}

KeyFault PayloadReader::move_pieces(Core& core, const KeyUse& use, std::uint64_t iova,
                                    std::uint64_t size, DmaOp& last, bool ends) {
  // Pages of a region are all there; of what a list names, each piece may be a fault.
  if (core.keys.is_indirect(use.key)) {
    const KeyFault fault = use.check_pieces(core.keys, iova, size);
    if (fault != KeyFault::none) return fault;
  }
  while (size != 0) {
    const MemoryRange found = use.translate(core.keys, iova, size).piece;
    const std::uint64_t piece = found.length;
    if (is_on_demand(found.base)) {
      const KeyFault fault = move_on_demand(found.base, piece);
      if (fault != KeyFault::none) return fault;
    } else {
      const DmaOp moved = move_piece(core, found.base, piece, ends && piece == size);
      if (moved.id != 0) last = moved;
    }
    iova += piece;
    size -= piece;
  }
  return KeyFault::none;
}

KeyFault PayloadReader::move_on_demand(DmaAddress to, std::uint64_t size) {
  if (packet_.header.fragment_count == 0) {
    const bool written = write_on_demand(to, packet_.payload + offset_, size);
    offset_ += size;
    return written ? KeyFault::none : KeyFault::absent;
  }
  while (size != 0) {
    const Fragment& source = packet_.fragments[fragment_];
    const std::uint64_t piece = std::min(size, source.size - offset_);
    // The system does not copy from a GPU.
    const DmaAddress from = source.address + offset_;
    const auto* const bytes = reinterpret_cast<const void*>(plain_address(from));
    if (is_gpu(from) || !write_on_demand(to, bytes, piece)) return KeyFault::absent;
    to = to + piece;
    size -= piece;
    offset_ += piece;
    if (offset_ != source.size) continue;
    ++fragment_;
    offset_ = 0;
  }
  return KeyFault::none;
}

DmaOp PayloadReader::move_piece(Core& core, DmaAddress to, std::uint64_t size, bool ends) {
  if (packet_.header.fragment_count == 0) {
    const std::uint8_t* const from = packet_.payload + offset_;
    offset_ += size;
    return ends ? core.port.write_last(to, from, size) : core.port.write(to, from, size);
  }
  DmaOp last;
  for (;;) {
    const Fragment& source = packet_.fragments[fragment_];
    const DmaAddress from = source.address + offset_;
    const std::uint64_t rest = source.size - offset_;
    if (size <= rest) {
      offset_ += size;
      const DmaOp moved =
          ends ? core.port.copy_last(to, from, size) : core.port.copy(to, from, size);
      return moved.id != 0 ? moved : last;
    }
    if (rest != 0) {
      const DmaOp moved = core.port.copy(to, from, rest);
      if (moved.id != 0) last = moved;
    }
    to = to + rest;
    size -= rest;
    ++fragment_;
    offset_ = 0;
  }
}

}  // namespace gdakit::softnic
