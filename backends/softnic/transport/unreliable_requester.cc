#include "backends/softnic/transport/unreliable_requester.h"

#include "backends/softnic/queues/make_cqe.h"
#include "backends/softnic/queues/umr.h"
#include "backends/softnic/transport/payload.h"
#include "core/format/address_vector.h"
#include "core/host/counter_table.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kPacketsPerTurn = 64;
// A peer that lives may be held up for long.
constexpr std::uint64_t kPatienceNs = 1'000'000'000;

bool is_datagram(const UnreliableSend& send) {
  return send.qp.attributes.service == ServiceType::ud;
}

// What a queue pair of this service type can be asked to do.
bool can_carry(const UnreliableSend& send) {
  switch (send.request.kind) {
    case RequestKind::nop: return true;
    case RequestKind::send: return !send.request.invalidates;
    case RequestKind::key_change:
    case RequestKind::write: return !is_datagram(send);
    case RequestKind::dump:
    case RequestKind::read:
    case RequestKind::atomic: break;
  }
  return false;
}

bool flushes(QpState state) { return state == QpState::sqer || state == QpState::err; }

}  // namespace

Turn UnreliableRequester::work(UnreliableSend& send) {
  Turn turn;
  const QpState& state = send.qp.state;
  if (has_requests(state) || flushes(state)) turn.worked = send.queue.update_producer(core_);
  turn.pending = send.queue.waits_for_record();
  if (!send.connection.outbox.empty()) turn |= drain(send);
  if (send.flushes_record) {
    send.flush_end = send.queue.producer();
    send.flushes_record = send.queue.waits_for_record();
  }
  const bool is_behind = send.flushes_record || send.queue.completed() < send.flush_end;
  if (flushes(state) || (has_requests(state) && is_behind)) {
    turn |= flush(send);
  } else if (has_requests(state)) {
    send.flushing = false;
    turn |= transmit(send);
  }
  if (!send.loaded) send.queue.give_back_if_unneeded(core_);
  return turn;
}

Turn UnreliableRequester::transmit(UnreliableSend& send) {
  Turn turn;
  for (std::uint32_t i = 0; i < kPacketsPerTurn && has_requests(send.qp.state); ++i) {
    Step step = Step::done;
    if (!send.loaded) {
      step = load(send);
    } else if (send.sent || send.fault) {
      step = complete(send);
    } else {
      step = emit(send);
    }
    turn.pending |= step != Step::blocked;
    if (step != Step::done) break;
    turn.worked = true;
  }
  return turn;
}

UnreliableRequester::Step UnreliableRequester::load(UnreliableSend& send) {
  SendQueue& queue = send.queue;
  if (send.stopped || queue.started() == queue.producer()) return Step::blocked;
  Fault fault;
  if (queue.read_next(core_, send.request, fault) == SendQueue::Read::pending) {
    return Step::pending;
  }
  send.loaded = true;
  send.index = static_cast<std::uint32_t>(queue.started());
  queue.start(send.request.wqebbs);
  send.op = {};
  send.fault = fault ? fault : check(send);
  const bool has_packets =
      send.request.kind == RequestKind::write || send.request.kind == RequestKind::send;
  send.sent = !has_packets;
  send.gather = {};
  send.no_room_since_ns = 0;
  if (core_.trace != nullptr) {
    core_.trace->wqe_begins(send.qp.number, send.index,
                            static_cast<std::uint8_t>(send.request.opcode),
                            static_cast<std::uint32_t>(send.request.length));
  }
  return Step::done;
}

Fault UnreliableRequester::check(UnreliableSend& send) {
  const Request& request = send.request;
  if (!can_carry(send)) return kMalformedWqe;
  if (request.kind == RequestKind::key_change) {
    return change_key(core_, send.qp, request, send.op);
  }
  if (is_datagram(send) && request.kind == RequestKind::send) {
    if (request.length > send.connection.psn_bytes) return kLocalLength;
    find_receivers(send);
  }
  return find_sges(send);
}

void UnreliableRequester::find_receivers(UnreliableSend& send) {
  const AddressVector& address = send.request.address;
  send.to.clear();
  send.reached = 0;
  if (core_.addresses == nullptr) return;
  if (address.qpn == kMulticastQp) {
    core_.addresses->find_members(address.gid, send.to);
  } else if (const auto endpoint = core_.addresses->endpoint_of(address)) {
    send.to.push_back({*endpoint, address.qpn});
  }
  if (!send.to.empty()) {
    send.connection.over_udp = core_.wire.path(send.to.front().endpoint).over_udp;
  }
}

Fault UnreliableRequester::find_sges(UnreliableSend& send) {
  send.removals = core_.keys.removals();
  return resolve_sges(core_.keys, send.qp.attributes.pd, send.qp.number, Access::local_read,
                      send.request);
}

UnreliableRequester::Step UnreliableRequester::emit(UnreliableSend& send) {
  // Keys have gone since the WQE was loaded, perhaps one of its own.
  if (send.removals != core_.keys.removals()) {
    send.fault = find_sges(send);
    if (send.fault) return Step::done;
  }
  // What is in the outbox is all for one endpoint.
  if (send.reached != 0 && !send.connection.outbox.empty()) return Step::pending;
  const std::uint64_t left = send.request.length - send.gather.sent_bytes;
  Packet packet = next_packet(send);
  if (send.fault) return Step::done;
  const std::uint32_t size = packet.header.payload_size;
  const bool is_lost = is_datagram(send) && send.to.empty();
  const bool is_sent = is_lost || core_.send(send.connection, packet);
  if (!is_sent && core_.was_absent()) {
    send.fault = kLocalProtection;
    return Step::done;
  }
  const Endpoint to = packet.header.destination;
  if (!is_sent && !gives_up(send, to)) return Step::pending;
  const bool is_taken = is_sent && !is_lost && send.connection.outbox.empty();
  if (is_taken) note_taken(send, to);
  send.next_psn = psn_add(send.next_psn, 1);
  if (is_datagram(send) && !is_lost && ++send.reached < send.to.size()) return Step::done;
  send.sent = size == left;
  if (!send.sent) send.gather.advance(send.request, size);
  return Step::done;
}

// Small messages lie in the copy of their WQE; any other payload is gathered by Core::send, unless
// the WQE fails since its memory is not there.
Packet UnreliableRequester::next_packet(UnreliableSend& send) {
  const Request& request = send.request;
  const std::uint64_t left = request.length - send.gather.sent_bytes;
  Packet packet = make_packet(send.connection, PacketOpcode::send_only, send.next_psn);
  packet.wqe = send.index;
  PacketHeader& header = packet.header;
  if (request.small != nullptr) {
    packet.payload = request.small;
    header.payload_size = static_cast<std::uint32_t>(request.length);
  } else if (left != 0) {
    const auto walk = [&](std::uint64_t size, const auto& use) {
      const KeyFault fault = send.gather.walk(core_.keys, send.qp, request, size, use);
      if (fault != KeyFault::none) send.fault = kLocalProtection;
    };
    gather_payload(core_, send.connection.psn_bytes, left, walk, packet);
  }
  const bool first = send.gather.sent_bytes == 0;
  const bool last = header.payload_size == left;
  header.opcode = data_opcode(request, first, last);
  if (last && request.has_imm) header.imm = request.imm;
  header.solicited = last && request.solicited;
  if (is_datagram(send)) {
    address(send, header);
  } else if (first && request.kind == RequestKind::write) {
    header.reth = {request.remote_address, request.rkey,
                   static_cast<std::uint32_t>(request.length)};
  }
  return packet;
}

void UnreliableRequester::address(const UnreliableSend& send, PacketHeader& header) const {
  const AddressVector& to = send.request.address;
  const bool is_own = (to.qkey & format::kOwnQkey) != 0;
  const Receiver receiver = send.to.empty() ? Receiver{0, to.qpn} : send.to[send.reached];
  header.destination = receiver.endpoint;
  header.destination_qpn = receiver.qpn;
  header.service_level = to.service_level;
  header.traffic_class = to.traffic_class;
  header.deth = {is_own ? send.qp.settings.path.qkey : to.qkey, send.qp.number};
}

Turn UnreliableRequester::drain(UnreliableSend& send) {
  const Endpoint to = send.connection.outbox.front().packet.header.destination;
  Turn turn = core_.drain_outbox(send.connection);
  if (turn.worked && send.qp.state != QpState::err) note_taken(send, to);
  if (!send.connection.outbox.empty() && gives_up(send, to)) {
    turn |= core_.drain_outbox(send.connection, /*may_lose=*/true);
  }
  return turn;
}

void UnreliableRequester::note_taken(UnreliableSend& send, Endpoint to) {
  send.no_room_since_ns = 0;
  if (!core_.overdue.empty()) core_.overdue.erase(to);
}

// There is no room for the packet that is to go next. Whether it is lost.
bool UnreliableRequester::gives_up(UnreliableSend& send, Endpoint to) {
  if (core_.overdue.contains(to)) return true;
  if (send.no_room_since_ns == 0) send.no_room_since_ns = core_.now_ns;
  if (core_.now_ns - send.no_room_since_ns < kPatienceNs) return false;
  core_.overdue.insert(to);
  return true;
}

// The WQE's packets have gone, or it has failed: its memory is not read any more.
UnreliableRequester::Step UnreliableRequester::complete(UnreliableSend& send) {
  if (!send.connection.outbox.empty() || !core_.done(send.op)) return Step::pending;
  if (!post_completion(send)) return Step::pending;
  ++send.qp.counters.wqes;
  if (core_.trace != nullptr) {
    const bool is_told = asks_for_cqe(send.request.completion);
    const TraceEnd of_success = is_told ? TraceEnd::told : TraceEnd::silent;
    core_.trace->wqe_ends(send.qp.number, send.index,
                          static_cast<std::uint8_t>(send.request.opcode),
                          send.fault ? TraceEnd::failed : of_success);
  }
  send.queue.complete(send.request.wqebbs);
  send.loaded = false;
  if (send.fault) fail(send);
  return Step::done;
}

bool UnreliableRequester::post_completion(UnreliableSend& send) {
  const auto index = static_cast<std::uint16_t>(send.index);
  const format::Opcode opcode = send.request.opcode;
  if (!send.fault && !asks_for_cqe(send.request.completion)) return true;
  format::Cqe64 cqe = send.fault
                          ? make_error_cqe(send.qp, format::CqeOpcode::requester_error, index,
                                           static_cast<std::uint8_t>(opcode), send.fault)
                          : make_requester_cqe(send.qp, index, opcode);
  return core_.post_cqe(send.qp, *send.qp.send_cq, cqe);
}

void UnreliableRequester::fail(UnreliableSend& send) {
  ++send.qp.counters.req_cqe_error;
  count_error(send.qp.counters, ErrorSide::requester, send.fault.syndrome);
  core_.fail_send_queue(send.qp, {send.fault.syndrome, send.fault.vendor_syndrome,
                                  static_cast<std::uint16_t>(send.index),
                                  static_cast<std::uint8_t>(send.request.opcode), false});
}

// The WQE that was being sent is flushed with all others, once its memory is not read any more.
Turn UnreliableRequester::flush(UnreliableSend& send) {
  if (!send.connection.outbox.empty()) return {.pending = true};
  if (!send.flushing) {
    send.flushing = true;
    send.loaded = false;
    send.queue.begin_flush();
  }
  return send.queue.flush(core_, flushes(send.qp.state) ? SendQueue::kEverything : send.flush_end);
}

}  // namespace gdakit::softnic
