// Connects of DC: who gets a responder.
#include <algorithm>
#include <utility>

#include "backends/softnic/engine/dc_targets.h"
#include "backends/softnic/queues/no_send_queue.h"
#include "backends/softnic/transport/payload.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMostParked = 4096;
constexpr std::size_t kMostWaiting = 1024;
// Who has not asked for so long waits no more: initiators pause 1.6 ms at most.
constexpr std::uint64_t kGraceNs = 20'000'000;
// An initiator's numbers begin anew if its host does.
constexpr std::uint64_t kForgetNs = 10'000'000'000;

constexpr std::uint8_t kLogReads = 4;

bool is_newer(std::uint64_t id, std::uint64_t than) {
  return static_cast<std::int64_t>(id - than) > 0;
}

}  // namespace

void DcTargets::connect(Dct& target, const PacketHeader& header) {
  if (!has_right_key(target, header)) return;
  if (DcResponder* const known = find(header)) {
    connect_again(*known, header);
    return;
  }
  const DcPeer peer{target.number, header.dc_source, header.source};
  if (dc_resumes(header.dcceth.connection)) {
    // What was executed of it, nobody knows any more.
    static_cast<void>(answer(header, Acknowledge::nak_remote_operation, header.psn));
    return;
  }
  if (!admit(peer)) {
    static_cast<void>(answer(header, Acknowledge::nak_no_responder, header.psn));
    return;
  }
  begin(make(target, peer, header), header);
}

bool DcTargets::has_right_key(Dct& target, const PacketHeader& header) {
  if (!same_partition(header.pkey, kDefaultPartition)) {
    ++core_.counters.pkey_violations;
    return false;
  }
  if (header.dcceth.access_key == target.attributes.access_key) return true;
  ++target.key_violations;
  ++core_.counters.dc_key_violations;
  static_cast<void>(answer(header, Acknowledge::nak_remote_access, header.psn));
  if (std::exchange(target.armed, false)) {
    core_.tell({EventKind::dct_key_violation, target.number});
  }
  return false;
}

// From an initiator that is connected, or was. Its PSNs go on from one connection to the next, so
// that packets which are executed already are known as such, whichever connection they came by.
void DcTargets::connect_again(DcResponder& responder, const PacketHeader& header) {
  const std::uint64_t id = header.dcceth.connection;
  const bool forgotten = core_.now_ns - responder.last_ns >= kForgetNs;
  if (id != responder.id && !is_newer(id, responder.id) && !forgotten) return;
  if (dc_epoch(id) != dc_epoch(responder.id)) {
    begin_anew(responder, header);
    return;
  }
  const bool failed = responder.phase == DcPhase::failed || responder.common.state == QpState::err;
  if (failed) return;
  if (is_parked(responder.phase)) {
    if (!admit(responder.peer())) {
      responder.id = id;
      const std::uint32_t expected = responder.receive.expected_psn;
      const bool skips = psn_distance(header.psn, expected) > 0;
      static_cast<void>(
          answer(header, Acknowledge::nak_no_responder, skips ? header.psn : expected));
      return;
    }
    unpark(responder);
  }
  go_on(responder, header);
}

// An initiator that was made anew: what is left of the one before goes first, and the initiator is
// told to come again.
void DcTargets::begin_anew(DcResponder& responder, const PacketHeader& header) {
  if (!is_parked(responder.phase) || responder.receive.claimed) {
    end(responder);
    core_.fail(responder.common, {});
    static_cast<void>(answer(header, Acknowledge::nak_no_responder, header.psn));
    return;
  }
  const DcPeer peer = responder.peer();
  if (!admit(peer)) {
    static_cast<void>(answer(header, Acknowledge::nak_no_responder, header.psn));
    return;
  }
  Dct& target = responder.target;
  erase(responder);
  begin(make(target, peer, header), header);
}

// What comes between two connections was another target's.
void DcTargets::go_on(DcResponder& responder, const PacketHeader& header) {
  RcReceive& receive = responder.receive;
  const bool is_known = responder.id == header.dcceth.connection;
  if (is_known && responder.phase <= DcPhase::leaving) return;
  if (psn_distance(header.psn, receive.expected_psn) > 0) receive.go_to(header.psn);
  if (responder.phase != DcPhase::leaving) {
    if (connected_.holds(responder)) connected_.remove(responder);
    begin(responder, header);
  }
  responder.id = header.dcceth.connection;
}

// Whether there is a place for it, that nobody has waited for longer.
bool DcTargets::admit(const DcPeer& peer) {
  if (waiting_.empty() && in_use_ < limits_.responders) return true;
  std::erase_if(waiting_, [this, &peer](const Waiter& one) {
    return one.peer != peer && core_.now_ns - one.asked_ns > kGraceNs;
  });
  const auto at = std::ranges::find(waiting_, peer, &Waiter::peer);
  const auto before = static_cast<std::uint64_t>(at - waiting_.begin());
  if (in_use_ + before < limits_.responders) {
    if (at != waiting_.end()) waiting_.erase(at);
    return true;
  }
  if (at != waiting_.end()) {
    at->asked_ns = core_.now_ns;
  } else if (waiting_.size() < kMostWaiting) {
    waiting_.push_back({peer, core_.now_ns});
  }
  ask_to_leave();
  return false;
}

// As many as wait, of those that have been there long enough.
void DcTargets::ask_to_leave() {
  while (leaving_ < waiting_.size() && !connected_.empty()) {
    DcResponder& oldest = *connected_.first();
    if (core_.now_ns - oldest.since_ns < limits_.tenure_ns) return;
    connected_.remove(oldest);
    oldest.phase = DcPhase::leaving;
    oldest.going_ns = core_.now_ns;
    ++leaving_;
    activate(oldest);
  }
}

bool DcTargets::answer(const PacketHeader& connect, Acknowledge acknowledge, std::uint32_t psn) {
  Packet packet;
  PacketHeader& header = packet.header;
  header.destination = connect.source;
  header.service = ServiceType::dc;
  header.opcode = PacketOpcode::acknowledge;
  header.pkey = connect.pkey;
  header.destination_qpn = connect.dc_source;
  header.dc_source = connect.destination_qpn;
  header.psn = psn;
  header.aeth = {.msn = static_cast<std::uint32_t>(connect.dcceth.connection) & kMsnMask,
                 .acknowledge = acknowledge};
  packet.sender = connect.destination_qpn;
  if (!core_.wire.send(packet)) return false;
  if (acknowledge == Acknowledge::nak_no_responder) ++core_.counters.dc_cnaks_sent;
  return true;
}

// The oldest beyond so many, but for those that have a receive WQE in hand.
void DcTargets::forget_parked() {
  for (std::uint32_t looks = parked_count_; looks != 0 && parked_count_ > kMostParked; --looks) {
    DcResponder& oldest = *parked_.first();
    if (oldest.receive.claimed) {
      parked_.remove(oldest);
      parked_.push_back(oldest);
    } else {
      erase(oldest);
    }
  }
}

DcResponder& DcTargets::make(Dct& target, const DcPeer& peer, const PacketHeader& header) {
  forget_parked();
  const DctAttributes& given = target.attributes;
  QpAttributes attributes;
  attributes.service = ServiceType::dc;
  attributes.pd = given.pd;
  attributes.user_index = given.user_index;
  attributes.send_queue = attributes.doorbell_record = no_send_queue();
  auto made = std::make_unique<DcResponder>(target, peer, attributes);
  DcResponder& responder = *made;
  responder.common.receive_cq = target.cq;
  responder.common.state = QpState::rtr;
  QpModify& settings = responder.common.settings;
  settings.access = given.access;
  settings.min_rnr_nak = given.min_rnr_nak;
  settings.log_rra_max = kLogReads;
  settings.path = {.endpoint = peer.endpoint,
                   .service_level = header.service_level,
                   .traffic_class = given.traffic_class,
                   .mtu = given.mtu};
  responder.connection.remote_qpn = peer.initiator;
  responder.established = true;
  core_.begin(responder.connection);
  responder.receive.begin(header.psn);
  responder.timer.qp = &responder;
  timers_.add();
  ++in_use_;
  ++target.connections;
  responders_.emplace(peer, std::move(made));
  return responder;
}

// The connection is there.
void DcTargets::begin(DcResponder& responder, const PacketHeader& header) {
  responder.phase = DcPhase::connected;
  responder.connection.loses_unsent = false;
  responder.id = header.dcceth.connection;
  responder.since_ns = responder.last_ns = core_.now_ns;
  connected_.push_back(responder);
  ++core_.counters.rx_dct_connect;
}

}  // namespace gdakit::softnic
