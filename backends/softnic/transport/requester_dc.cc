// An initiator of DC: which target it is connected to.
#include <algorithm>

#include "backends/softnic/transport/payload.h"
#include "backends/softnic/transport/requester.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint64_t kFirstPauseNs = 100'000;
constexpr std::uint64_t kLongestPauseNs = 1'600'000;
// For a responder, unless rnr_retry says for ever.
constexpr std::uint64_t kPatienceNs = 10'000'000'000;
constexpr std::uint8_t kRetryForEver = 7;
// Of an epoch; far fewer than a connection's number has room for, as those that resume go on.
constexpr std::uint32_t kMostConnections = 1u << 30;

constexpr Fault kNoTarget{format::Syndrome::transport_retry_exceeded,
                          format::vendor::retry_exceeded};
constexpr Fault kNoResponder{format::Syndrome::rnr_retry_exceeded, 0};

bool goes_to_target(RequestKind kind) {
  return kind != RequestKind::nop && kind != RequestKind::dump && kind != RequestKind::key_change;
}

}  // namespace

// Turns to the target that the WQE names. False: what was asked of another one comes first.
bool Requester::reach_target(RcSend& send, Fault& fault) {
  if (!goes_to_target(send.request.kind)) return true;
  const AddressVector& to = send.request.address;
  const auto endpoint =
      core_.addresses == nullptr ? std::nullopt : core_.addresses->endpoint_of(to);
  if (!endpoint) {
    fault = kNoTarget;
    return true;
  }
  DcInitiator& dc = *send.dc;
  Path& path = send.qp.settings.path;
  const bool same = dc.connection != 0 && *endpoint == path.endpoint &&
                    to.qpn == send.connection.remote_qpn && to.dc_key == dc.access_key;
  if (!same) {
    if (!send.flights.empty() || !send.connection.outbox.empty()) return false;
    hang_up(send);
    dc.access_key = to.dc_key;
    path.endpoint = *endpoint;
    send.connection.remote_qpn = to.qpn;
    send.round_trip = {};
    core_.begin(send.connection);
  }
  path.service_level = to.service_level;
  path.traffic_class = to.traffic_class;
  if (!dc.open) {
    dc.first_psn = send.next_psn;
    begin_connection(send);
  }
  return true;
}

void Requester::begin_connection(RcSend& send) {
  DcInitiator& dc = *send.dc;
  const bool counted_out = dc.count >= kMostConnections && !dc.resumes;
  if (dc.connection == 0 || counted_out) {
    dc.epoch = core_.next_epoch();
    dc.count = 0;
  }
  dc.connection = dc_connection(dc.epoch, ++dc.count, dc.resumes);
  dc.open = dc.connect_due = true;
  dc.confirmed = false;
  dc.idle_until_ns = core_.now_ns + core_.dc_idle_ns;
}

// Sends what comes before the first request. False: no room.
bool Requester::connect(RcSend& send) {
  DcInitiator& dc = *send.dc;
  Packet packet = make_packet(send.connection, PacketOpcode::dc_connect, send.unacked_psn);
  packet.header.dcceth = {dc.access_key, dc.connection};
  if (!core_.send(send.connection, packet)) return false;
  dc.connect_due = false;
  return true;
}

void Requester::hang_up(RcSend& send) {
  DcInitiator& dc = *send.dc;
  if (dc.open && !dc.connect_due) {
    Packet packet = make_packet(send.connection, PacketOpcode::dc_disconnect, send.unacked_psn);
    // Without room the target finds out by itself, when it needs the responder.
    static_cast<void>(core_.send(send.connection, packet));
  }
  dc.open = dc.connect_due = dc.resumes = false;
  dc.refused_since_ns = dc.pause_ns = dc.idle_until_ns = 0;
}

bool Requester::hang_up_if_idle(RcSend& send) {
  const DcInitiator& dc = *send.dc;
  const bool idle = send.flights.empty() && dc.open && core_.now_ns >= dc.idle_until_ns;
  if (idle) hang_up(send);
  return idle;
}

// Whether it is an answer to what was asked, as of any reliable connection.
bool Requester::takes_answer(RcSend& send, const PacketHeader& header) {
  if (header.dc_source != send.connection.remote_qpn) return false;
  if (header.opcode == PacketOpcode::acknowledge &&
      header.aeth.acknowledge == Acknowledge::nak_no_responder) {
    refused(send, header);
    return false;
  }
  DcInitiator& dc = *send.dc;
  // One of a connection before, or to what was never asked, proves nothing.
  const bool proves = dc.open && psn_distance(header.psn, send.unacked_psn) >= 0 &&
                      psn_distance(header.psn, send.next_psn) < 0;
  if (!proves) return true;
  dc.confirmed = true;
  dc.resumes = false;
  dc.refused_since_ns = dc.pause_ns = 0;
  dc.idle_until_ns = core_.now_ns + core_.dc_idle_ns;
  return true;
}

// There is no responder for the connection, or none any more: another one is asked for after a
// pause, which goes on where the target says.
void Requester::refused(RcSend& send, const PacketHeader& header) {
  DcInitiator& dc = *send.dc;
  const bool is_this = dc.open && header.aeth.msn == (dc.connection & kMsnMask) &&
                       psn_distance(header.psn, dc.first_psn) >= 0 &&
                       psn_distance(header.psn, send.next_psn) <= 0;
  if (!is_this) return;
  dc.open = false;
  dc.idle_until_ns = 0;
  // Something was done: what of its answers is lost, the target knows.
  dc.resumes = dc.resumes || header.psn != dc.first_psn;
  dc.first_psn = header.psn;
  // The target lives.
  send.retries = 0;
  send.gap_seen = false;
  acknowledged_before(send, header.psn);
  const bool is_all = send.unacked_psn == send.next_psn && send.cursor == send.flights.tail();
  if (is_all) {
    dc.resumes = false;
    return;
  }
  if (dc.refused_since_ns == 0) dc.refused_since_ns = core_.now_ns;
  const bool waits_on = send.qp.settings.rnr_retry == kRetryForEver ||
                        core_.now_ns - dc.refused_since_ns < kPatienceNs;
  if (!waits_on) {
    fail_at_psn(send, send.unacked_psn, kNoResponder);
    return;
  }
  begin_connection(send);
  send_again(send);
  send.timer_ns = 0;
  send.late_ns = 0;
  send.blocked_until_ns = core_.now_ns + std::max(dc.pause_ns, kFirstPauseNs);
  dc.pause_ns = std::min(std::max(2 * dc.pause_ns, kFirstPauseNs), kLongestPauseNs);
}

}  // namespace gdakit::softnic
