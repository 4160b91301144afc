// Congestion control of one queue pair (DCQCN): what it knows as the receiver of marked packets,
// and as the sender of what was marked.
//
//   sender -- ECT --> switch: a queue is long -- CE --> receiver
//          <------------- CNP, at most one each 50 us ---
//
// Requests and READ responses are sent as packets that may be marked, and at the limit's rate.
// Acknowledges, atomic responses and CNPs are not: they are small, and others wait for them.
#pragma once

#include <cstdint>

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

  // The time has come for what was held back, perhaps.
  void go_on(std::uint64_t now_ns) {
    if (now_ns >= held_until_ns) held_until_ns = 0;
  }

  // A packet has come that is marked. Those that come soon after a CNP are not told of.
  void marked(std::uint64_t now_ns) { cnp_due |= now_ns >= next_cnp_ns; }
};

}  // namespace gdakit::softnic
