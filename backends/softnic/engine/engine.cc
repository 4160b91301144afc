// The data path: doorbells, packets, turns, timers, sweeps.
#include "backends/softnic/engine/engine.h"

#include <algorithm>
#include <utility>

#include "core/format/cq_doorbell.h"
#include "core/format/doorbell.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kHeldPackets = 1024;
constexpr std::size_t kDeferredPackets = 64;

bool is_doorbell(UarType type, std::uint32_t offset) {
  const std::uint32_t unit = type == UarType::dense ? sizeof(std::uint64_t) : format::kUarHalfBytes;
  return offset >= format::kUarDoorbellBegin && offset < format::kUarDoorbellEnd &&
         offset % unit == 0;
}

// Whether the packet is for a queue pair of this kind and state. A connection is to one NIC; which
// of its queue pairs sends, no packet of RC or UC says. Datagrams come from anywhere. A CNP of the
// wire between hosts does not say of which service it is.
bool is_of_service(const Qp& qp, const PacketHeader& header) {
  const ServiceType service = qp.common.attributes.service;
  if (header.service == service) return true;
  return service >= ServiceType::xrc && header.opcode == PacketOpcode::congestion_notification;
}

// An initiator of DC takes answers alone.
bool is_of_kind(const Qp& qp, const PacketHeader& header) {
  return qp.common.attributes.service != ServiceType::dc || is_response(header.opcode) ||
         header.opcode == PacketOpcode::congestion_notification;
}

bool accepts(const Qp& qp, const PacketHeader& header) {
  return qp.common.state >= QpState::rtr && is_of_service(qp, header) && is_of_kind(qp, header) &&
         (header.source == qp.common.settings.path.endpoint || header.service == ServiceType::ud);
}

// Whether doorbells of a queue pair in this state mean anything.
bool takes_doorbells(QpState state) {
  return has_requests(state) || state == QpState::sqer || state == QpState::err;
}

}  // namespace

Engine::Engine(const EngineOptions& options, DmaPort& port, Wire& wire)
    : options_(options),
      core_(port, wire, options.payload_buffers, options.events, srqs_),
      requester_(core_),
      responder_(core_),
      unreliable_requester_(core_),
      unreliable_responder_(core_),
      pd_numbers_(ObjectKind::pd, options.max_objects),
      uar_numbers_(ObjectKind::uar, options.max_objects),
      cq_numbers_(ObjectKind::cq, options.max_objects),
      qp_numbers_(ObjectKind::qp, options.max_qps, options.skipped_qps),
      srq_numbers_(ObjectKind::srq, options.max_objects),
      xrcd_numbers_(ObjectKind::xrcd, options.max_objects),
      removals_(core_),
      held_(kHeldPackets),
      dc_targets_(core_, timers_, active_, options.dc) {
  core_.keys = KeyTable(options.max_objects, options.skipped_keys, options.first_key_variant);
  core_.adaptive_retransmission = options.adaptive_retransmission;
  core_.selective_repeat = options.selective_repeat;
  core_.congestion_control = options.congestion_control;
  core_.dc_idle_ns = options.dc_idle_ns;
  core_.trace = options.trace;
  core_.addresses = options.addresses;
  deferred_.reserve(kDeferredPackets);
}

Engine::~Engine() {
  // Operations on their way may still write to the engine's own buffers.
  const DmaOp last = core_.port.fence();
  while (!core_.done(last)) {
    core_.port.submit();
    core_.port.poll();
  }
}

void Engine::doorbell(UarNumber uar, std::uint32_t offset, std::uint64_t value) {
  const UarUse* const page = uars_.find(uar);
  const bool without_record =
      page != nullptr && page->type == UarType::registers && offset == format::kUarNoRecordDoorbell;
  if (page == nullptr || !(without_record || is_doorbell(page->type, offset))) {
    control_doorbell(page, uar, offset, value);
    return;
  }
  // The first eight bytes of a control segment.
  const std::uint32_t index_word = byte_swap(static_cast<std::uint32_t>(value));
  const std::uint32_t qpn_ds = byte_swap(static_cast<std::uint32_t>(value >> 32));
  Qp* qp = qps_.find(qpn_ds >> 8);
  const bool takes = qp != nullptr && qp->common.attributes.uar == uar &&
                     qp->common.attributes.no_send_record == without_record &&
                     takes_doorbells(qp->common.state);
  if (!takes) {
    ++core_.counters.dropped_doorbells;
    return;
  }
  ++qp->common.counters.doorbells;
  const bool says_how_far = page->type == UarType::dense || without_record;
  const std::uint32_t producer = (index_word >> 8) + format::wqebbs_of(qpn_ds & 0x3f);
  const auto hint = static_cast<std::uint16_t>(producer);
  if (core_.trace != nullptr) core_.trace->doorbell(qp->common.number, hint);
  if (says_how_far) {
    qp->send_queue.ring(hint);
    if (options_.record_after_doorbell) qp->send_queue.look_at_record_again();
  } else {
    qp->send_queue.ring_for_record(hint);
  }
  activate(*qp);
}

// A store to a register that rings for no queue pair.
void Engine::control_doorbell(const UarUse* page, UarNumber uar, std::uint32_t offset,
                              std::uint64_t value) {
  NicCounters& counters = core_.counters;
  const bool registers = page != nullptr && page->type == UarType::registers;
  if (registers && (offset == format::kUarEqArm || offset == format::kUarEqUpdate)) {
    ++counters.eq_doorbells;
    return;
  }
  const CqNumber number = byte_swap(static_cast<std::uint32_t>(value >> 32));
  const bool armed = registers && offset == format::kUarCqArm && arm(uar, number);
  ++(armed ? counters.cq_doorbells : counters.dropped_doorbells);
}

// What the CQ is armed for is read from its doorbell record.
bool Engine::arm(UarNumber uar, CqNumber number) {
  Cq* const cq = cqs_.find(number);
  if (cq == nullptr || cq->uar() != uar) return false;
  cq->look_at_arm();
  core_.activate(*cq);
  return true;
}

void Engine::activate(Qp& qp) {
  if (!active_.holds(qp)) active_.push_back(qp);
}

bool Engine::step(std::uint64_t now_ns) {
  core_.now_ns = now_ns;
  core_.port.poll();
  if (!removals_.empty()) removals_.step();
  bool worked = retire_packets();
  worked |= deliver_deferred();
  worked |= receive_packets();
  worked |= work_queues();
  worked |= run_timers();
  sweep(worked);
  if (!core_.active_cqs.empty()) worked |= work_cqs();
  if (!core_.side_work.empty()) worked |= work_sides();
  core_.port.submit();
  core_.wire.flush();
  return worked;
}

bool Engine::receive_packets() {
  std::uint64_t bytes = 0;
  bool worked = false;
  for (std::uint32_t i = 0; i < options_.packets_per_step && bytes < options_.bytes_per_step; ++i) {
    if (held_.full() || deferred_.size() == kDeferredPackets) break;
    const Packet* packet = core_.wire.receive();
    if (packet == nullptr) break;
    worked = true;
    bytes += packet->header.payload_size;
    DmaOp op;
    const bool taken = deliver(*packet, op);
    if (!taken) deferred_.push_back(held_.tail());
    if (taken && op.id == 0 && held_.empty()) {
      core_.wire.retire(packet);
    } else {
      held_.push() = {packet, op, !taken};
    }
  }
  return worked;
}

// Offers deferred packets again: to each queue pair in their order.
bool Engine::deliver_deferred() {
  for (const std::uint64_t number : deferred_) {
    const PacketHeader& header = held_[number].packet->header;
    Qp* qp = qps_.find(header.destination_qpn);
    if (qp == nullptr) qp = dc_targets_.find(header);
    if (qp != nullptr) qp->defers = false;
  }
  const std::size_t before = deferred_.size();
  std::erase_if(deferred_, [this](std::uint64_t number) {
    Held& held = held_[number];
    held.deferred = !deliver(*held.packet, held.op);
    return !held.deferred;
  });
  return deferred_.size() != before;
}

// Hands the packet to its queue pair; false if that cannot take it now. Then it takes no request
// behind that one; its answers and all other queue pairs go on.
bool Engine::deliver(const Packet& packet, DmaOp& op) {
  const PacketHeader& header = packet.header;
  Qp* qp = qps_.find(header.destination_qpn);
  if (qp == nullptr) return deliver_to_target(packet, op);
  if (!accepts(*qp, header)) {
    ++core_.counters.dropped_packets;
    return true;
  }
  if (header.opcode == PacketOpcode::congestion_notification) {
    take_cnp(*qp);
    return true;
  }
  return deliver_to(*qp, packet, op);
}

bool Engine::deliver_to_target(const Packet& packet, DmaOp& op) {
  Dct* const target = dcts_.find(packet.header.destination_qpn);
  if (target == nullptr) {
    ++core_.counters.dropped_packets;
    return true;
  }
  DcResponder* const responder = dc_targets_.take(*target, packet.header);
  return responder == nullptr || deliver_to(*responder, packet, op);
}

bool Engine::deliver_to(Qp& qp, const Packet& packet, DmaOp& op) {
  const PacketHeader& header = packet.header;
  if (!same_partition(header.pkey, qp.common.settings.path.pkey)) {
    ++core_.counters.pkey_violations;
    return true;
  }
  activate(qp);
  core_.port.order_chain(qp.common.number);
  if (is_response(header.opcode)) {
    requester_.answer(qp.send, packet, op);
  } else {
    if (qp.common.state == QpState::rtr && !std::exchange(qp.established, true)) {
      core_.tell({EventKind::communication_established, qp.common.number});
    }
    qp.defers = qp.defers || !request(qp, packet, op);
    if (qp.defers) return false;
  }
  ++qp.common.counters.packets_received;
  Congestion* const congestion = qp.connection.congestion.get();
  if (congestion != nullptr && is_marked(header) && is_paced(header.opcode)) {
    ++qp.common.counters.np_ecn_marked_roce_packets;
    congestion->marked();
  }
  return true;
}

bool Engine::request(Qp& qp, const Packet& packet, DmaOp& op) {
  if (qp.unreliable == nullptr) return responder_.request(qp.receive, packet, op);
  return unreliable_responder_.request(qp.unreliable->receive, packet, op);
}

// Those of a peer with congestion control mean nothing to a queue pair without. They are of no
// partition.
void Engine::take_cnp(Qp& qp) {
  ++qp.common.counters.packets_received;
  if (qp.connection.congestion == nullptr) return;
  ++qp.common.counters.rp_cnp_handled;
  qp.connection.congestion->limit.notified(core_.now_ns);
}

bool Engine::retire_packets() {
  bool worked = false;
  while (!held_.empty() && !held_.front().deferred && core_.done(held_.front().op)) {
    core_.wire.retire(held_.front().packet);
    held_.pop();
    worked = true;
  }
  return worked;
}

Turn Engine::work(Qp& qp) {
  core_.port.order_chain(qp.common.number);
  if (qp.unreliable != nullptr) return work_unreliable(qp);
  if (qp.common.attributes.service == ServiceType::dc) return work_dc(qp);
  Turn turn;
  if (qp.connection.congestion != nullptr) turn = core_.send_cnp(qp.connection);
  // The responder goes first: its acknowledges are what peers wait for.
  turn |= responder_.work(qp.receive);
  turn |= core_.drain_outbox(qp.connection);
  turn |= requester_.work(qp.send);
  if (qp.sq_draining) look_at_draining(qp);
  expect_timer(qp);
  return turn;
}

// Out of line: work() of RC is to stay as short as it is.
Turn Engine::work_unreliable(Qp& qp) {
  Turn turn = unreliable_responder_.work(qp.unreliable->receive);
  turn |= unreliable_requester_.work(qp.unreliable->send);
  if (qp.sq_draining) look_at_draining(qp);
  return turn;
}

// An initiator, which asks, or a responder of a target, which answers.
Turn Engine::work_dc(Qp& qp) {
  Turn turn;
  if (qp.connection.congestion != nullptr) turn = core_.send_cnp(qp.connection);
  const bool asks = qp.send.dc != nullptr;
  if (!asks) turn |= responder_.work(qp.receive);
  turn |= core_.drain_outbox(qp.connection);
  if (asks) turn |= requester_.work(qp.send);
  if (qp.sq_draining) look_at_draining(qp);
  expect_timer(qp);
  if (!asks) turn |= dc_targets_.look_at(static_cast<DcResponder&>(qp));
  return turn;
}

// Tells once that what the send queue had started is complete.
void Engine::look_at_draining(Qp& qp) {
  const bool is_sqd = qp.common.state == QpState::sqd;
  const bool idle = qp.unreliable != nullptr ? qp.unreliable->send.idle() : qp.send.flights.empty();
  if (is_sqd && !idle) return;
  qp.sq_draining = false;
  if (is_sqd) core_.tell({EventKind::sq_drained, qp.common.number});
}

void Engine::expect_timer(Qp& qp) {
  std::uint64_t at_ns = qp.send.next_time_ns();
  if (const Congestion* const congestion = qp.connection.congestion.get()) {
    const std::uint64_t wake_ns = congestion->wake_ns(core_.now_ns);
    if (wake_ns != 0 && (at_ns == 0 || wake_ns < at_ns)) at_ns = wake_ns;
  }
  timers_.set(qp.timer, at_ns);
}

bool Engine::work_queues() {
  bool worked = false;
  const Qp* const last = active_.last();
  for (std::uint32_t i = 0; i < options_.queues_per_step && !active_.empty(); ++i) {
    Qp& qp = *active_.first();
    active_.remove(qp);
    const Turn turn = work(qp);
    worked |= turn.worked;
    if (turn.worked || turn.pending) activate(qp);
    // Each gets one turn a step.
    if (&qp == last) break;
  }
  return worked;
}

bool Engine::run_timers() {
  bool worked = false;
  for (std::uint32_t i = 0; i < options_.queues_per_step; ++i) {
    const Timer* const timer = timers_.earliest();
    if (timer == nullptr || core_.now_ns < timer->at_ns) break;
    Qp& qp = *timer->qp;
    requester_.timer(qp.send);
    if (qp.connection.congestion != nullptr) qp.connection.congestion->go_on(core_.now_ns);
    activate(qp);
    expect_timer(qp);
    worked = true;
  }
  return worked;
}

bool Engine::work_cqs() {
  bool worked = false;
  const Cq* const last = core_.active_cqs.last();
  while (!core_.active_cqs.empty()) {
    Cq& cq = *core_.active_cqs.first();
    core_.active_cqs.remove(cq);
    const Cq::News news = cq.step(core_.now_ns);
    if (news.pending) core_.activate(cq);
    if (news.completion) core_.tell({EventKind::completion, cq.number()});
    if (news.error) core_.tell({EventKind::cq_error, cq.number(), kCqOverrun});
    if (news.lost) fail_users(cq);
    worked |= news.completion || news.error;
    // Each gets one turn a step.
    if (&cq == last) break;
  }
  return worked;
}

bool Engine::work_sides() {
  bool worked = false;
  const SideWork* const last = core_.side_work.last();
  while (!core_.side_work.empty()) {
    SideWork& some = *core_.side_work.first();
    core_.side_work.remove(some);
    const Turn turn = some.work(core_);
    worked |= turn.worked;
    if (turn.pending) core_.activate(some);
    // Each gets one turn a step.
    if (&some == last) break;
  }
  return worked;
}

void Engine::fail_users(const Cq& cq) {
  for (QpNumber number = qps_.begin_number(); number < qps_.end_number(); ++number) {
    Qp* qp = qps_.find(number);
    if (qp == nullptr || qp->common.state == QpState::reset) continue;
    if (qp->common.send_cq != &cq && qp->common.receive_cq != &cq) continue;
    core_.fail(qp->common, {}, EventKind::qp_fatal);
    if (!connected_.holds(*qp)) connected_.push_back(*qp);
    activate(*qp);
  }
  for (const DctNumber number : dcts()) {
    Dct& target = *dcts_.find(number);
    if (target.cq == &cq) dc_targets_.fail(target);
  }
}

// A doorbell that another one overwrote before it was seen is not lost: the doorbell record tells.
void Engine::sweep(bool worked) {
  const std::uint32_t interval = worked ? options_.sweep_busy_steps : options_.sweep_idle_steps;
  if (++since_sweep_ < interval) return;
  since_sweep_ = 0;
  if (core_.now_ns < next_sweep_ns_) return;
  next_sweep_ns_ = core_.now_ns + options_.sweep_interval_ns;
  const Qp* const last = connected_.last();
  for (std::uint32_t i = 0; i < options_.sweep_queues && !connected_.empty(); ++i) {
    Qp& qp = *connected_.first();
    connected_.remove(qp);
    connected_.push_back(qp);
    if (qp.common.state != QpState::rtr) {
      qp.send_queue.sweep_record(core_.now_ns);
      if (qp.common.state == QpState::err) qp.receive_queue.look_at_record();
      activate(qp);
    }
    if (&qp == last) break;
  }
  sweep_arms();
}

// The same holds for an arm.
void Engine::sweep_arms() {
  const Cq* const last = armable_.last();
  for (std::uint32_t i = 0; i < options_.sweep_queues && !armable_.empty(); ++i) {
    Cq& cq = *armable_.first();
    armable_.remove(cq);
    armable_.push_back(cq);
    cq.look_at_arm();
    core_.activate(cq);
    if (&cq == last) break;
  }
}

}  // namespace gdakit::softnic
