// From the flight to the wire: the packets of the current request.
#include <algorithm>

#include "backends/softnic/transport/payload.h"
#include "backends/softnic/transport/requester.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kPacketsPerTurn = 64;
constexpr std::uint64_t kDumpPiece = 16384;

}  // namespace

Turn Requester::work(Qp& qp) {
  Turn turn = core_.drain_outbox(qp);
  if (has_requests(qp.state) || qp.state == QpState::err) turn.worked |= update_producer(qp);
  if (qp.send.record.reading || qp.send.record.wanted) turn.pending = true;
  if (has_requests(qp.state)) turn |= complete(qp);
  if (has_requests(qp.state)) turn |= transmit(qp);
  if (qp.state == QpState::err) turn |= flush(qp);
  give_back_if_unneeded(qp);
  return turn;
}

Turn Requester::transmit(Qp& qp) {
  SendSide& send = qp.send;
  Turn turn;
  if (send.blocked_until_ns != 0 || send.withdrawal) return turn;
  // Keys have gone since the last turn, perhaps one of this request's: its WQE is read again.
  if (send.removals != core_.keys.removals()) send.loaded = false;
  for (std::uint32_t i = 0; i < kPacketsPerTurn; ++i) {
    if (!send.loaded) {
      const Load load_result = load(qp);
      if (load_result == Load::pending) turn.pending = true;
      if (load_result != Load::loaded) break;
      turn.worked = true;
      turn.pending = true;  // there may be more, and a finished flight to complete
      continue;
    }
    const Emit emit_result = emit(qp);
    if (emit_result == Emit::pending) {
      turn.pending = true;
      // A peer that takes nothing any more is found out like one that does not answer.
      const bool sends = send.flights[send.cursor].kind != RequestKind::dump;
      if (sends && send.timer_ns == 0) start_timer(qp);
    }
    if (emit_result != Emit::sent) break;
    turn.worked = true;
    turn.pending = true;
  }
  return turn;
}

Requester::Emit Requester::emit(Qp& qp) {
  Flight& flight = qp.send.flights[qp.send.cursor];
  switch (flight.kind) {
    case RequestKind::nop: finish_sending(qp, flight); return Emit::sent;
    case RequestKind::dump: return emit_dump(qp, flight);
    case RequestKind::read: return emit_read(qp, flight);
    case RequestKind::atomic: return emit_atomic(qp, flight);
    case RequestKind::write:
    case RequestKind::send: break;
  }
  return emit_data(qp, flight);
}

void Requester::finish_sending(Qp& qp, Flight& flight) {
  flight.sent = true;
  next_flight(qp.send);
}

void Requester::next_flight(SendSide& send) {
  send.loaded = false;
  ++send.cursor;
  const bool is_new = send.cursor == send.flights.tail();
  send.psn = is_new ? send.next_psn : send.flights[send.cursor].first_psn;
}

Requester::Emit Requester::emit_dump(Qp& qp, Flight& flight) {
  SendSide& send = qp.send;
  // One read at a time, so that the last one's token stands for all.
  if (!core_.done(flight.op)) return Emit::pending;
  if (send.sent_bytes == flight.length) {
    finish_sending(qp, flight);
    return Emit::sent;
  }
  const Sge& sge = send.request.sges[send.sge];
  const std::uint64_t size = std::min(kDumpPiece, sge.size - send.sge_offset);
  static_assert(sizeof dumped_ >= kDumpPiece);
  flight.op = core_.port.read(dumped_.data(), sge.place + send.sge_offset, size);
  advance_sges(send, size);
  return Emit::sent;
}

// Bookkeeping after a packet that consumed `psns` numbers from send.psn on.
void Requester::packet_sent(Qp& qp, std::uint32_t psns) {
  SendSide& send = qp.send;
  send.psn = psn_add(send.psn, psns);
  if (psn_distance(send.psn, send.next_psn) > 0) send.next_psn = send.psn;
  if (send.timer_ns == 0) restart_timer(qp);
}

Requester::Emit Requester::emit_read(Qp& qp, Flight& flight) {
  SendSide& send = qp.send;
  const std::uint64_t done = std::uint64_t{flight.responses} * core_.psn_bytes;
  const std::uint32_t psns = core_.psns_of(flight.length);
  send.psn = psn_add(flight.first_psn, flight.responses);
  Packet packet = make_packet(qp, PacketOpcode::read_request, send.psn);
  packet.header.reth_address = send.request.remote_address + done;
  packet.header.reth_rkey = send.request.rkey;
  packet.header.reth_length = flight.length - done;
  if (!core_.send(qp, packet)) return Emit::pending;
  flight.last_psn = psn_add(flight.first_psn, psns - 1);
  packet_sent(qp, psns - flight.responses);
  finish_sending(qp, flight);
  return Emit::sent;
}

Requester::Emit Requester::emit_atomic(Qp& qp, Flight& flight) {
  SendSide& send = qp.send;
  send.psn = flight.first_psn;
  Packet packet = make_packet(qp, PacketOpcode::atomic_request, send.psn);
  packet.header.reth_address = send.request.remote_address;
  packet.header.reth_rkey = send.request.rkey;
  packet.header.reth_length = send.request.atomic.size;
  packet.atomic = send.request.atomic;
  if (!core_.send(qp, packet)) return Emit::pending;
  packet_sent(qp, 1);
  finish_sending(qp, flight);
  return Emit::sent;
}

void Requester::rewind_sges(SendSide& send) {
  send.sge = 0;
  send.sge_offset = 0;
  send.sent_bytes = 0;
}

void Requester::advance_sges(SendSide& send, std::uint64_t size) {
  send.sent_bytes += size;
  while (size != 0) {
    const std::uint64_t piece = std::min(size, send.request.sges[send.sge].size - send.sge_offset);
    send.sge_offset += piece;
    size -= piece;
    if (send.sge_offset == send.request.sges[send.sge].size) {
      ++send.sge;
      send.sge_offset = 0;
    }
  }
}

// Names up to `limit` bytes of payload: as much as the fragments of a packet hold.
void Requester::name_payload(const SendSide& send, std::uint64_t limit, Packet& packet) {
  const Request& request = send.request;
  std::uint64_t room = std::min<std::uint64_t>(limit, request.length - send.sent_bytes);
  std::uint64_t offset = send.sge_offset;
  PacketHeader& header = packet.header;
  header.fragment_count = 0;
  header.payload_size = 0;
  for (std::uint32_t i = send.sge; room != 0 && header.fragment_count < kMaxFragments; ++i) {
    const Sge& sge = request.sges[i];
    const std::uint64_t piece = std::min(room, sge.size - offset);
    packet.fragments[header.fragment_count++] = {sge.place + offset, piece, sge.lkey};
    header.payload_size += static_cast<std::uint32_t>(piece);
    room -= piece;
    offset = 0;
  }
}

// Names the payload of the next packet: of as many PSNs as its way allows. A PSN stands for
// psn_bytes, or for what four fragments hold, if that is less; so each names the same bytes
// whenever it is sent.
void Requester::fill_fragments(const SendSide& send, Packet& packet) const {
  name_payload(send, core_.mtu, packet);
  const std::uint32_t size = packet.header.payload_size;
  if (size <= core_.psn_bytes) return;
  const bool ends = send.sent_bytes + size == send.request.length;
  const std::uint32_t whole = ends ? size : size - size % core_.psn_bytes;
  if (whole != size) name_payload(send, whole, packet);
  if (size > core_.value_mtu && !core_.wire.by_reference(packet)) {
    name_payload(send, core_.psn_bytes, packet);
  }
}

Requester::Emit Requester::emit_data(Qp& qp, Flight& flight) {
  SendSide& send = qp.send;
  const Request& request = send.request;
  Packet packet = make_packet(qp, PacketOpcode::write_only, send.psn);
  PacketHeader& header = packet.header;
  if (request.small != nullptr) {
    packet.payload = request.small;
    header.payload_size = static_cast<std::uint32_t>(request.length);
  } else {
    fill_fragments(send, packet);
  }
  const std::uint32_t size = header.payload_size;
  const std::uint32_t psns = core_.psns_of(size);
  const bool first = send.sent_bytes == 0;
  const bool last = send.sent_bytes + size == request.length;
  const bool is_write_request = request.kind == RequestKind::write;
  if (first && last) {
    header.opcode = is_write_request ? PacketOpcode::write_only : PacketOpcode::send_only;
  } else if (first) {
    header.opcode = is_write_request ? PacketOpcode::write_first : PacketOpcode::send_first;
  } else if (last) {
    header.opcode = is_write_request ? PacketOpcode::write_last : PacketOpcode::send_last;
  } else {
    header.opcode = is_write_request ? PacketOpcode::write_middle : PacketOpcode::send_middle;
  }
  if (last && request.has_imm) {
    // The opcode with immediate is the next enumerator.
    header.opcode = static_cast<PacketOpcode>(static_cast<unsigned>(header.opcode) + 1);
    header.imm = request.imm;
  }
  header.solicited = last && request.solicited;
  if (first && is_write_request) {
    header.reth_address = request.remote_address;
    header.reth_rkey = request.rkey;
    header.reth_length = request.length;
  }
  if (!core_.send(qp, packet)) return Emit::pending;
  if (last) flight.last_psn = psn_add(send.psn, psns - 1);
  packet_sent(qp, psns);
  if (last) {
    finish_sending(qp, flight);
  } else {
    advance_sges(send, size);
  }
  return Emit::sent;
}

}  // namespace gdakit::softnic
