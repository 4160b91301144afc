// Answers as they arrive: acknowledges, READ and atomic responses; and retries where they do not.
#include <algorithm>
#include <array>
#include <limits>

#include "backends/softnic/transport/payload.h"
#include "backends/softnic/transport/requester.h"
#include "core/base/endian.h"

namespace gdakit::softnic {
namespace {

constexpr Fault kRetryExceeded{format::Syndrome::transport_retry_exceeded,
                               format::vendor::retry_exceeded};
constexpr Fault kRnrRetryExceeded{format::Syndrome::rnr_retry_exceeded, 0};
constexpr Fault kBadResponse{format::Syndrome::bad_response, 0};
constexpr std::uint8_t kRetryForEver = 7;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

// What a fatal NAK says of the WQE that it answers.
Fault fault_of(Acknowledge acknowledge) {
  switch (acknowledge) {
    case Acknowledge::nak_invalid_request: return kRemoteInvalidRequest;
    case Acknowledge::nak_remote_access: return kRemoteAccess;
    default: return {format::Syndrome::remote_operation, 0};
  }
}

// RNR timer codes in microseconds.
constexpr std::array<std::uint32_t, 32> kRnrTimerUs = {
    655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
    480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
    20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

// 4.096 us * 2^code.
std::uint64_t ack_timeout_ns(std::uint8_t code) { return std::uint64_t{4096} << (code & 31); }

}  // namespace

void Requester::answer(RcSend& send, const Packet& packet, DmaOp& op) {
  if (!has_requests(send.qp.state)) return;
  const PacketHeader& header = packet.header;
  if (send.dc != nullptr && !takes_answer(send, header)) return;
  if (header.opcode == PacketOpcode::acknowledge && read_refused(send, header)) return;
  // Answers to what has long been settled, or to what was never asked.
  const bool stale = psn_distance(header.psn, send.unacked_psn) < 0;
  if (stale || psn_distance(header.psn, send.next_psn) >= 0) return;
  if (header.opcode == PacketOpcode::acknowledge) {
    acknowledge(send, header);
  } else {
    response(send, packet, op);
  }
}

// The peer refuses the READ that is being answered. Responses that it had sent before may be lost
// for good, with the key by which it named their memory; so the NAK is not held up for them.
bool Requester::read_refused(RcSend& send, const PacketHeader& header) {
  if (header.aeth.acknowledge < Acknowledge::nak_invalid_request) return false;
  const std::uint64_t number = first_unanswered(send);
  if (number == send.flights.tail()) return false;
  const Flight& flight = send.flights[number];
  const auto psns = static_cast<std::int32_t>(send.connection.psns_of(flight.length));
  const std::int32_t ahead = psn_distance(header.psn, flight.first_psn);
  const bool is_of_it = flight.kind == RequestKind::read && ahead >= 0 && ahead < psns &&
                        psn_distance(header.psn, send.next_psn) < 0;
  if (!is_of_it) return false;
  progress(send, psn_add(flight.first_psn, flight.responses));
  fail_at(send, number, fault_of(header.aeth.acknowledge));
  return true;
}

void Requester::acknowledge(RcSend& send, const PacketHeader& header) {
  if (header.aeth.acknowledge == Acknowledge::ack) {
    acknowledged_before(send, psn_add(header.psn, 1));
    return;
  }
  acknowledged_before(send, header.psn);
  if (send.unacked_psn != header.psn) return;  // an answer before this one is missing
  switch (header.aeth.acknowledge) {
    case Acknowledge::rnr_nak: {
      if (send.blocked_until_ns != 0) return;  // one that the wire has repeated
      const std::uint32_t retries = ++send.rnr_retries;
      if (send.qp.settings.rnr_retry != kRetryForEver && retries > send.qp.settings.rnr_retry) {
        fail_at_psn(send, header.psn, kRnrRetryExceeded);
        return;
      }
      ++send.qp.counters.rnr_nak_retry_err;
      send_again(send);
      send.timer_ns = 0;
      send.late_ns = 0;
      send.blocked_until_ns =
          core_.now_ns + std::uint64_t{kRnrTimerUs[header.aeth.rnr_timer & 31]} * 1000;
      return;
    }
    case Acknowledge::nak_sequence:
      if (send.blocked_until_ns == 0) {
        const bool by_value = psn_distance(send.reference_psn, send.unacked_psn) <= 0;
        const bool told = gap_told(send, send.connection.selective_repeat && by_value);
        if (told) ++send.qp.counters.packet_seq_err;
      }
      return;
    default: fail_at_psn(send, header.psn, fault_of(header.aeth.acknowledge));
  }
}

// The number of the first READ or atomic without all its responses; flights.tail() if there is
// none.
std::uint64_t Requester::first_unanswered(RcSend& send) {
  std::uint64_t number = send.flights.head();
  if (send.unfinished_reads == 0) return send.flights.tail();
  for (; number != send.flights.tail(); ++number) {
    const Flight& flight = send.flights[number];
    if (has_response_data(flight.kind) && !flight.answered) break;
  }
  return number;
}

// The peer has executed everything before `psn`. An answer to a READ or an atomic among that was
// lost.
void Requester::acknowledged_before(RcSend& send, std::uint32_t psn) {
  const std::uint64_t number = first_unanswered(send);
  if (number != send.flights.tail()) {
    const Flight& flight = send.flights[number];
    const std::uint32_t needed = psn_add(flight.first_psn, flight.responses);
    if (psn_distance(psn, needed) > 0) {
      progress(send, needed);
      if (gap_told(send)) ++send.qp.counters.implied_nak_seq_err;
      return;
    }
  }
  progress(send, psn);
}

// An answer says that a packet was lost, a request or a response. To send again once is enough:
// more of the responses that came too early may follow, and the wire may repeat a NAK.
// `keeps_later`: the peer has kept what it got of the packets behind the missing one. False:
// nothing is sent again.
bool Requester::gap_told(RcSend& send, bool keeps_later) {
  if (send.gap_seen) return false;
  send.gap_seen = true;
  if (send.connection.adaptive_retransmission) {
    note_loss(send);
  } else if (!count_retry(send, kRetryExceeded)) {
    return false;
  }
  const RcSend::Place here = send.ahead.value_or(RcSend::Place{send.cursor, send.psn});
  send_again(send);
  restart_timer(send);
  if (keeps_later) repeat_some(send, here);
  return true;
}

// Sends some of the packets again, and goes on from `here`. Packets are often lost in a row, which
// would take a round trip for each.
void Requester::repeat_some(RcSend& send, RcSend::Place here) {
  constexpr std::uint32_t kMost = 64;
  const bool goes_on = send.repeats != 0 && send.psn == send.repeated_psn;
  send.repeats = goes_on ? std::min(2 * send.repeats, kMost) : 1;
  send.repeated_psn = psn_add(send.psn, send.repeats);
  if (psn_distance(here.psn, send.repeated_psn) > 0) send.ahead = here;
}

// What was missing is out again, or was not missing.
void Requester::go_on(RcSend& send) {
  send.cursor = send.ahead->cursor;
  send.psn = send.ahead->psn;
  send.loaded = false;
  send.ahead.reset();
}

void Requester::progress(RcSend& send, std::uint32_t unacked_psn) {
  if (psn_distance(unacked_psn, send.unacked_psn) <= 0) return;
  send.unacked_psn = unacked_psn;
  send.retries = 0;
  send.rnr_retries = 0;
  send.gap_seen = false;
  send.in_doubt = false;
  send.late_ns = 0;
  if (send.connection.adaptive_retransmission) send.round_trip.answered(unacked_psn, core_.now_ns);
  restart_timer(send);
  // What is sent again need not begin before what is acknowledged by now.
  if (psn_distance(unacked_psn, send.psn) <= 0) return;
  const bool is_ahead = send.ahead && psn_distance(send.ahead->psn, unacked_psn) >= 0;
  if (is_ahead) {
    go_on(send);
  } else {
    send_again(send);
  }
}

void Requester::start_timer(RcSend& send) {
  const std::uint8_t code = send.qp.settings.ack_timeout;
  const bool adaptive = send.connection.adaptive_retransmission;
  send.timer_ns = 0;
  if (code == 0 && !adaptive) return;
  if (send.late_ns == 0 || !adaptive) {
    send.late_ns = code == 0 ? kNever : core_.now_ns + ack_timeout_ns(code);
  }
  send.timer_ns = send.late_ns;
  if (!adaptive) return;
  send.timer_ns = std::min(send.timer_ns, core_.now_ns + send.round_trip.patience_ns());
}

void Requester::restart_timer(RcSend& send) {
  send.timer_ns = 0;
  if (awaits_answer(send)) {
    start_timer(send);
  } else {
    send.late_ns = 0;
  }
}

void Requester::response(RcSend& send, const Packet& packet, DmaOp& op) {
  const std::uint32_t psn = packet.header.psn;
  const std::uint64_t number = first_unanswered(send);
  if (number == send.flights.tail()) return;
  const Flight& flight = send.flights[number];
  const std::int32_t ahead = psn_distance(psn, psn_add(flight.first_psn, flight.responses));
  if (ahead < 0) return;  // it was here already
  if (ahead > 0) {
    acknowledged_before(send, psn);
    return;
  }
  progress(send, psn);  // the peer has executed everything before
  const bool is_atomic = packet.header.opcode == PacketOpcode::atomic_acknowledge;
  if (is_atomic != (flight.kind == RequestKind::atomic)) {
    fail_at(send, number, kBadResponse);
    return;
  }
  if (is_atomic) {
    atomic_response(send, number, packet);
  } else {
    read_response(send, number, packet, op);
  }
}

// Scatters the payload to the flight's bytes from `at` on.
Fault Requester::scatter(RcSend& send, const Flight& flight, const Packet& packet, std::uint64_t at,
                         DmaOp& op) {
  PayloadReader payload(packet);
  std::uint64_t left = packet.header.payload_size;
  for (const ScatterSge& sge : send.scatters[flight.scatter].sges) {
    if (left == 0) break;
    if (at >= sge.size) {
      at -= sge.size;
      continue;
    }
    const std::uint64_t piece = std::min(left, sge.size - at);
    const KeyUse use{sge.lkey, send.qp.attributes.pd, send.qp.number, Access::local_write};
    const KeyFault fault = payload.move_to(core_, use, sge.iova + at, piece, op);
    if (fault != KeyFault::none) {
      // What has been moved before is still read from the packet, which must stay until then.
      op = core_.all_of(op);
      return kLocalProtection;
    }
    left -= piece;
    at = 0;
  }
  op = core_.all_of(op);
  return {};
}

void Requester::read_response(RcSend& send, std::uint64_t number, const Packet& packet, DmaOp& op) {
  Flight& flight = send.flights[number];
  const std::uint64_t at = std::uint64_t{flight.responses} * send.connection.psn_bytes;
  const std::uint64_t left = flight.length - at;
  const std::uint32_t size = packet.header.payload_size;
  const Place place = size == left ? Place::alone : Place::before_last;
  const std::uint32_t end = psn_add(packet.header.psn, packet.header.psns);
  const bool was_asked = psn_distance(end, send.next_psn) <= 0;
  if (size > left || !was_asked || !is_cut_right(send.connection, packet.header, place)) {
    fail_at(send, number, kBadResponse);
    return;
  }
  const Fault fault = scatter(send, flight, packet, at, op);
  if (op.id != 0) flight.op = op;
  if (fault) {
    fail_at(send, number, fault);
    return;
  }
  send.qp.counters.bytes_received += size;
  flight.answered = size == left;
  flight.responses += packet.header.psns;
  progress(send, end);
}

void Requester::atomic_response(RcSend& send, std::uint64_t number, const Packet& packet) {
  Flight& flight = send.flights[number];
  const ScatterList& list = send.scatters[flight.scatter];
  const std::uint64_t result = packet.header.aeth.atomic_result;
  // Eight bytes come back in host order, four in network order.
  const Be32 word{static_cast<std::uint32_t>(result)};
  const ScatterSge& sge = list.sges[0];
  Packet old;
  old.payload = list.atomic_size == 4 ? reinterpret_cast<const std::uint8_t*>(&word)
                                      : reinterpret_cast<const std::uint8_t*>(&result);
  const KeyUse use{sge.lkey, send.qp.attributes.pd, send.qp.number, Access::local_write};
  PayloadReader payload(old);
  if (payload.move_to(core_, use, sge.iova, list.atomic_size, flight.op) != KeyFault::none) {
    fail_at(send, number, kLocalProtection);
    return;
  }
  flight.op = core_.all_of(flight.op);
  flight.answered = true;
  flight.responses = 1;
  progress(send, psn_add(packet.header.psn, 1));
}

// Moves the cursor back to the first flight that is not acknowledged in full.
void Requester::send_again(RcSend& send) {
  send.round_trip.repeated();
  std::uint64_t number = send.flights.head();
  for (; number != send.flights.tail(); ++number) {
    const Flight& flight = send.flights[number];
    if (flight.fault) break;
    if (flight.kind == RequestKind::nop || flight.kind == RequestKind::dump) {
      if (!flight.sent) break;
      continue;
    }
    if (!flight.sent) break;
    if (has_response_data(flight.kind) ? !flight.answered
                                       : psn_distance(send.unacked_psn, flight.last_psn) <= 0) {
      break;
    }
  }
  send.cursor = number;
  send.psn = send.unacked_psn;
  send.loaded = false;
  send.ahead.reset();
  if (send.dc != nullptr) send.dc->connect_due |= send.dc->open && !send.dc->confirmed;
}

// False: there have been too many.
bool Requester::count_retry(RcSend& send, Fault exhausted) {
  if (++send.retries > send.qp.settings.retry_count) {
    send.timer_ns = 0;
    fail_at_psn(send, send.unacked_psn, exhausted);
    return false;
  }
  note_loss(send);
  return true;
}

void Requester::note_loss(RcSend& send) {
  ++send.qp.counters.retries;
  send.in_doubt = true;
}

// False: there have been too many.
bool Requester::retry(RcSend& send, Fault exhausted) {
  if (!count_retry(send, exhausted)) return false;
  // A target that has ended the connection may have said so, and it was lost.
  if (send.dc != nullptr) send.dc->confirmed = false;
  send_again(send);
  restart_timer(send);
  return true;
}

// Sends again before it is known that the peer does not answer at all.
void Requester::retry_early(RcSend& send) {
  note_loss(send);
  send_again(send);
  restart_timer(send);
}

void Requester::forgotten(RcSend& send, std::uint32_t psn) {
  if (!has_requests(send.qp.state) || send.blocked_until_ns != 0 || send.withdrawal) return;
  if (psn_distance(psn, send.unacked_psn) < 0) return;
  send_again(send);
  restart_timer(send);
}

void Requester::timer(RcSend& send) {
  if (!has_requests(send.qp.state)) return;
  if (send.dc != nullptr && hang_up_if_idle(send)) return;
  if (send.blocked_until_ns != 0) {
    if (core_.now_ns < send.blocked_until_ns) return;
    send.blocked_until_ns = 0;
    ++send.qp.counters.retries;
    restart_timer(send);
    return;
  }
  if (send.timer_ns == 0 || core_.now_ns < send.timer_ns) return;
  const bool is_late = core_.now_ns >= send.late_ns;
  if (is_late) send.late_ns = 0;
  // What the peer has yet to read is not lost; how long to wait for the peer is not this NIC's to
  // say. Nor is lost what the rate has yet to let go.
  if (core_.wire.unread(send.qp.settings.path.endpoint) ||
      send.connection.held_back(core_.now_ns)) {
    start_timer(send);
    return;
  }
  if (!awaits_answer(send)) {
    // The wire takes nothing. What it has taken before, nobody says is lost.
    const bool goes_on = !is_late || count_retry(send, kRetryExceeded);
    if (is_late && goes_on) ++send.qp.counters.local_ack_timeout_err;
    if (goes_on) start_timer(send);
    return;
  }
  send.gap_seen = false;
  send.round_trip.expired();
  if (is_late) {
    if (retry(send, kRetryExceeded)) ++send.qp.counters.local_ack_timeout_err;
  } else {
    retry_early(send);
    ++send.qp.counters.roce_adp_retrans;
  }
}

void Requester::fail_at_psn(RcSend& send, std::uint32_t psn, Fault fault) {
  std::uint64_t number = send.flights.head();
  for (; number != send.flights.tail(); ++number) {
    const Flight& flight = send.flights[number];
    if (flight.kind == RequestKind::nop || flight.kind == RequestKind::dump) continue;
    if (flight.fault || !flight.sent || psn_distance(psn, flight.last_psn) <= 0) break;
  }
  if (number != send.flights.tail()) fail_at(send, number, fault);
}

// The flight fails as soon as those before it have completed; those after it will be flushed.
void Requester::fail_at(RcSend& send, std::uint64_t number, Fault fault) {
  if (!send.flights[number].fault) send.flights[number].fault = fault;
  for (std::uint64_t after = number + 1; after != send.flights.tail(); ++after) {
    if (has_response_data(send.flights[after].kind)) --send.unfinished_reads;
  }
  send.flights.truncate(number + 1);
  send.stopped = true;
  send.cursor = send.flights.tail();
  send.loaded = false;
  send.ahead.reset();
}

}  // namespace gdakit::softnic
