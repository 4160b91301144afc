// Congestion control of one queue pair (DCQCN): what it knows as the receiver of marked packets,
// and as the sender of what was marked.
//
//   sender -- ECT --> switch: a queue is long -- CE --> receiver
//          <------------- CNP, at most one each 50 us ---
//
// Requests and READ responses are sent as packets that may be marked, and at the limit's rate.
// Acknowledges, atomic responses and CNPs are not: they are small, and others wait for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backends/softnic/transport/rate_limit.h"
#include "backends/softnic/wire/packet.h"

namespace gdakit::softnic {

// Between two CNPs of a queue pair, at least.
inline constexpr std::uint64_t kCnpIntervalNs = 50'000;

// Beside a packet's payload, about: Ethernet, IP, UDP, BTH, one extension, ICRC.
inline constexpr std::uint64_t kHeaderBytes = 82;

constexpr bool is_paced(PacketOpcode opcode) {
  return !is_response(opcode) ? opcode != PacketOpcode::congestion_notification
                              : is_read_response(opcode);
}

struct Congestion {
  RateLimit limit;
  // When the queue pair is to be looked at that sends no more until then; 0: nothing is held back.
  std::uint64_t held_until_ns = 0;
  bool responses_went_last = false;  // of what goes at the limit's rate
  bool requests_go_next = false;     // they were held back behind responses
  bool cnp_due = false;
  std::uint64_t next_cnp_ns = 0;  // not before

  // Whether packets are to wait; then until held_until_ns.
  bool holds(std::uint64_t now_ns) {
    if (!limit.limits()) return false;
    limit.advance(now_ns);
    const std::uint64_t next_ns = limit.next_ns();
    held_until_ns = next_ns > now_ns ? next_ns : 0;
    return held_until_ns != 0;
  }

  // When the queue pair is to be looked at next; 0: not for this.
  std::uint64_t wake_ns(std::uint64_t now_ns) const {
    const bool cnp_waits = cnp_due && next_cnp_ns > now_ns;
    if (!cnp_waits) return held_until_ns;
    return held_until_ns == 0 ? next_cnp_ns : std::min(held_until_ns, next_cnp_ns);
  }

  // The time has come for what was held back, perhaps.
  void go_on(std::uint64_t now_ns) {
    if (now_ns >= held_until_ns) held_until_ns = 0;
  }

  // A packet has gone at the limit's rate.
  void sent(PacketOpcode opcode, std::uint64_t payload_bytes, std::uint64_t now_ns) {
    responses_went_last = is_response(opcode);
    limit.sent(payload_bytes + kHeaderBytes, now_ns);
  }
  // The responder has the first word when the time has come. So that requests go at all, the two
  // take turns.
  void hold_requests() { requests_go_next = responses_went_last; }
  bool gives_way_to_requests() { return std::exchange(requests_go_next, false); }

  // A packet has come that is marked.
  void marked() { cnp_due = true; }
};

}  // namespace gdakit::softnic
