// From the flight to the wire: the packets of the current request.
#include <algorithm>

#include "backends/softnic/dma/on_demand.h"
#include "backends/softnic/transport/gather.h"
#include "backends/softnic/transport/payload.h"
#include "backends/softnic/transport/requester.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kPacketsPerTurn = 64;
constexpr std::uint64_t kDumpPiece = 16384;

Packet make_request(const RcSend& send, const Flight& flight, PacketOpcode opcode) {
  Packet packet = make_packet(send.connection, opcode, send.psn);
  packet.wqe = flight.index;
  packet.header.xrc_srq = send.request.xrc_srq;
  return packet;
}

}  // namespace

Turn Requester::work(RcSend& send) {
  Turn turn;
  const QpState& state = send.qp.state;
  if (has_requests(state) || state == QpState::err) {
    turn.worked = send.queue.update_producer(core_);
  }
  turn.pending = send.queue.waits_for_record();
  if (has_requests(state)) turn |= complete(send);
  if (has_requests(state)) turn |= transmit(send);
  if (state == QpState::err) turn |= flush(send);
  const bool needs_no_wqe_again = !send.loaded && send.cursor == send.flights.tail();
  if (needs_no_wqe_again) send.queue.give_back_if_unneeded(core_);
  return turn;
}

Turn Requester::transmit(RcSend& send) {
  Turn turn;
  if (send.blocked_until_ns != 0 || send.withdrawal) return turn;
  if (send.loaded && send.removals != core_.keys.removals() && !find_sges_again(send)) {
    turn.worked = turn.pending = true;
    return turn;
  }
  for (std::uint32_t i = 0; i < kPacketsPerTurn; ++i) {
    if (!send.loaded) {
      const Load load_result = load(send);
      if (load_result == Load::pending) turn.pending = true;
      if (load_result != Load::loaded) break;
      turn.worked = true;
      turn.pending = true;  // there may be more, and a finished flight to complete
      continue;
    }
    const Emit emit_result = emit(send);
    if (emit_result == Emit::pending) {
      turn.pending = true;
      // A peer that takes nothing any more is found out like one that does not answer.
      const bool sends = send.flights[send.cursor].kind != RequestKind::dump;
      if (sends && send.timer_ns == 0) start_timer(send);
    }
    if (emit_result != Emit::sent) break;
    if (send.ahead && psn_distance(send.psn, send.repeated_psn) >= 0) go_on(send);
    turn.worked = true;
    turn.pending = true;
  }
  return turn;
}

Requester::Emit Requester::emit(RcSend& send) {
  Flight& flight = send.flights[send.cursor];
  if (flight.kind == RequestKind::nop) {
    finish_sending(send, flight);
    return Emit::sent;
  }
  if (flight.kind == RequestKind::dump) return emit_dump(send, flight);
  if (send.dc != nullptr && send.dc->connect_due && !connect(send)) return Emit::pending;
  // An acknowledge moves it on.
  if (psn_distance(send.psn, send.unacked_psn) >= window(send, flight)) return Emit::blocked;
  if (send.connection.held_back(core_.now_ns)) {
    send.connection.congestion->hold_requests();
    return Emit::blocked;
  }
  switch (flight.kind) {
    case RequestKind::read: return emit_read(send, flight);
    case RequestKind::atomic: return emit_atomic(send, flight);
    default: return emit_data(send, flight);
  }
}

std::int32_t Requester::window(const RcSend& send, const Flight& flight) const {
  const bool is_small = flight.length <= kSmallPayload;
  const bool all_small = is_small && psn_distance(send.large_psn, send.unacked_psn) <= 0;
  return all_small ? send.connection.small_psn_window : send.connection.psn_window;
}

void Requester::finish_sending(RcSend& send, Flight& flight) {
  flight.sent = true;
  next_flight(send);
}

void Requester::next_flight(RcSend& send) {
  send.loaded = false;
  ++send.cursor;
  const bool is_new = send.cursor == send.flights.tail();
  send.psn = is_new ? send.next_psn : send.flights[send.cursor].first_psn;
}

Requester::Emit Requester::emit_dump(RcSend& send, Flight& flight) {
  // One read at a time, so that the last one's token stands for all.
  if (!core_.done(flight.op)) return Emit::pending;
  if (send.gather.sent_bytes == flight.length) {
    finish_sending(send, flight);
    return Emit::sent;
  }
  static_assert(sizeof dumped_ >= kDumpPiece);
  std::uint64_t size = 0;
  bool there = true;
  const auto read = [&](const Fragment& piece) {
    if (is_on_demand(piece.address)) {
      there = read_on_demand(dumped_.data(), piece.address, piece.size);
    } else {
      flight.op = core_.port.read(dumped_.data(), piece.address, piece.size);
    }
    size = piece.size;
    return false;
  };
  const KeyFault fault = send.gather.walk(core_.keys, send.qp, send.request, kDumpPiece, read);
  if (!there || fault != KeyFault::none) {
    fail_at(send, send.cursor, kLocalProtection);
    return Emit::sent;
  }
  send.gather.advance(send.request, size);
  return Emit::sent;
}

// Bookkeeping after a packet that consumed `psns` numbers from send.psn on. `asks`: the peer
// answers it.
void Requester::packet_sent(RcSend& send, std::uint32_t psns, bool asks) {
  const bool is_new = send.psn == send.next_psn;
  send.psn = psn_add(send.psn, psns);
  if (psn_distance(send.psn, send.next_psn) > 0) send.next_psn = send.psn;
  if (send.flights[send.cursor].length > kSmallPayload) {
    send.large_psn = send.next_psn;
  } else if (psn_distance(send.unacked_psn, send.large_psn) > 0) {
    send.large_psn = send.unacked_psn;
  }
  if (psn_distance(send.unacked_psn, send.reference_psn) > 0) send.reference_psn = send.unacked_psn;
  if (asks && psn_distance(send.psn, send.asked_psn) > 0) {
    send.asked_psn = send.psn;
    if (send.connection.adaptive_retransmission && is_new)
      send.round_trip.asked(send.psn, core_.now_ns);
  }
  // No timer runs for what nobody answers.
  if (send.timer_ns == 0 || !awaits_answer(send)) restart_timer(send);
}

// How many responses a READ may ask for from send.psn on: a window, for the peer sends them as fast
// as it can, and a network that has no room for them would lose them over and over. What was asked
// for before is asked for without more: the peer drops a READ that is both old and new.
std::uint32_t Requester::read_window(const RcSend& send) const {
  const std::int32_t old = psn_distance(send.next_psn, send.psn);
  const std::int32_t most = send.connection.psn_window;
  return static_cast<std::uint32_t>(old > 0 ? std::min(old, most) : most);
}

// Asks for the responses that are not here yet, when all have come that it has asked for.
Requester::Emit Requester::emit_read(RcSend& send, Flight& flight) {
  const Connection& connection = send.connection;
  const std::uint32_t next = psn_add(flight.first_psn, flight.responses);
  if (psn_distance(send.psn, next) > 0) return Emit::blocked;
  send.psn = next;
  const std::uint64_t done = std::uint64_t{flight.responses} * connection.psn_bytes;
  const std::uint64_t left = flight.length - done;
  const std::uint64_t size =
      std::min(left, std::uint64_t{read_window(send)} * connection.psn_bytes);
  Packet packet = make_request(send, flight, PacketOpcode::read_request);
  packet.header.reth = {send.request.remote_address + done, send.request.rkey,
                        static_cast<std::uint32_t>(size)};
  if (!core_.send(send.connection, packet)) return Emit::pending;
  packet_sent(send, connection.psns_of(size), true);
  if (size == left) {
    flight.last_psn = psn_add(send.psn, kPsnMask);
    finish_sending(send, flight);
  }
  return Emit::sent;
}

Requester::Emit Requester::emit_atomic(RcSend& send, Flight& flight) {
  send.psn = flight.first_psn;
  Packet packet = make_request(send, flight, PacketOpcode::atomic_request);
  packet.header.reth = {send.request.remote_address, send.request.rkey, send.request.atomic.size};
  packet.atomic = send.request.atomic;
  if (!core_.send(send.connection, packet)) return Emit::pending;
  packet_sent(send, 1, true);
  finish_sending(send, flight);
  return Emit::sent;
}

// Keys have gone since the current request was loaded, perhaps one of its own: then it fails, and
// the result is false.
bool Requester::find_sges_again(RcSend& send) {
  const Fault fault = find_sges(send);
  if (fault) fail_at(send, send.cursor, fault);
  return !fault;
}

// There was no room for the packet, or no memory that it could be read from.
Requester::Emit Requester::unsent(RcSend& send) {
  if (!core_.was_absent()) return Emit::pending;
  fail_at(send, send.cursor, kLocalProtection);
  return Emit::sent;
}

Requester::Emit Requester::emit_data(RcSend& send, Flight& flight) {
  const Request& request = send.request;
  const std::uint64_t left = request.length - send.gather.sent_bytes;
  KeyFault fault = KeyFault::none;
  const auto walk = [&](std::uint64_t size, const auto& use) {
    fault = send.gather.walk(core_.keys, send.qp, request, size, use);
  };
  Packet packet = make_request(send, flight, PacketOpcode::write_only);
  PacketHeader& header = packet.header;
  const bool is_short = request.length <= send.connection.psn_bytes;
  if (request.small != nullptr) {
    packet.payload = request.small;
    header.payload_size = static_cast<std::uint32_t>(request.length);
  } else if (is_short && request.sge_count == 1 && !request.sges[0].in_pieces) {
    const Sge& all = request.sges[0];
    packet.fragments[0] = {all.place, all.size, all.lkey};
    header.fragment_count = 1;
    header.payload_size = all.size;
  } else {
    name_payload(core_, send.connection, left, walk, packet);
    if (fault != KeyFault::none) {
      fail_at(send, send.cursor, kLocalProtection);
      return Emit::sent;
    }
  }
  const std::uint32_t size = header.payload_size;
  const std::uint32_t psns = header.psns = send.connection.psns_of(size);
  const bool first = send.gather.sent_bytes == 0;
  const bool last = size == left;
  header.opcode = data_opcode(request, first, last);
  if (last && request.has_imm) header.imm = request.imm;
  header.solicited = last && request.solicited;
  // After a loss the sender learns of each packet that arrives.
  header.ack_request = last || send.in_doubt || send.connection.reaches_ack(send.psn, psns);
  if (first && request.kind == RequestKind::write) {
    header.reth = {request.remote_address, request.rkey,
                   static_cast<std::uint32_t>(request.length)};
  }
  if (!core_.send(send.connection, packet)) return unsent(send);
  if (last) flight.last_psn = psn_add(send.psn, psns - 1);
  packet_sent(send, psns, header.ack_request);
  if (header.fragment_count != 0) send.reference_psn = send.next_psn;
  if (last) {
    finish_sending(send, flight);
  } else {
    send.gather.advance(send.request, size);
  }
  return Emit::sent;
}

}  // namespace gdakit::softnic
