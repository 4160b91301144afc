// An initiator of DC's connection: one at a time, to the target that the WQE in hand names. What
// happens to it is in requester_dc.cc.
//
//   WQE names another target  -->  what was started completes  -->  disconnect, connect, requests
//   nothing to do for a while -->  disconnect
//   no responder at the target (CNAK) -->  a pause, connect, requests from the PSN that it says
//
// PSNs go on from one connection to the next. Data follows its connect at once, and both go again
// if no answer comes (half handshake).
#pragma once

#include <cstdint>

namespace gdakit::softnic {

// The number of a connection: larger than those of the initiator's connections before, and of
// others that had its queue pair's number.
//
//   epoch[63:32] of the initiator | count[31:1] | resumes[0]
//
// resumes: it goes on with the one before, which the target has ended in the midst of work, and
// knows of.
constexpr std::uint64_t dc_connection(std::uint32_t epoch, std::uint32_t count, bool resumes) {
  return std::uint64_t{epoch} << 32 | (std::uint64_t{count} << 1 & 0xffffffff) | (resumes ? 1 : 0);
}
constexpr std::uint32_t dc_epoch(std::uint64_t connection) {
  return static_cast<std::uint32_t>(connection >> 32);
}
constexpr bool dc_resumes(std::uint64_t connection) { return (connection & 1) != 0; }

struct DcInitiator {
  // Of the target, beside Connection::remote_qpn and the path's endpoint.
  std::uint64_t access_key = 0;
  std::uint64_t connection = 0;  // its number; 0: there was none yet
  std::uint32_t epoch = 0;
  std::uint32_t count = 0;      // of connections
  std::uint32_t first_psn = 0;  // of the connection
  bool open = false;            // it is neither ended nor refused
  bool resumes = false;         // the next one goes on with this
  bool connect_due = false;     // before the next request
  bool confirmed = false;       // the target has answered
  std::uint64_t refused_since_ns = 0;
  std::uint64_t pause_ns = 0;       // before the next connect, if that is refused again
  std::uint64_t idle_until_ns = 0;  // then it ends, if nothing is under way; 0: it is not open
};

}  // namespace gdakit::softnic
