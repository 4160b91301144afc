// The control path: queue pairs, created, asked about and destroyed.
#include <bit>

#include "backends/softnic/engine/engine.h"
#include "backends/softnic/queues/no_send_queue.h"
#include "core/format/doorbell.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMaxLogQueue = 15;
constexpr std::uint32_t kMinLogStride = 4;
constexpr std::uint32_t kMaxLogStride = std::bit_width(kMaxReceiveStride) - 1;

// No doorbell and no record leads to a WQE, whose end no CQ would tell of.
void take_send_queue(QpAttributes& kept) {
  kept.send_queue = no_send_queue();
  kept.log_send_wqebbs = 0;
  kept.uar = 0;
  kept.no_send_record = true;
}

// A target has no memory of its client's, who may have given anything else.
QpAttributes target_attributes(XrcdNumber domain) {
  QpAttributes kept;
  kept.service = ServiceType::xrc;
  kept.xrc_domain = domain;
  kept.doorbell_record = no_send_queue();
  take_send_queue(kept);
  return kept;
}

QpAttributes kept_of(const QpAttributes& given) {
  if (given.is_xrc_target()) return target_attributes(given.xrc_domain);
  QpAttributes kept = given;
  if (given.send_cq == 0) take_send_queue(kept);
  return kept;
}

}  // namespace

Outcome<> Engine::check_qp(const QpAttributes& attributes, Uid uid) const {
  using Sy = CommandSyndrome;
  const QpAttributes& a = attributes;
  if (a.service >= ServiceType::count) {
    return refusal(Sy::create_qp_service, 0, static_cast<std::uint64_t>(a.service));
  }
  if (a.is_xrc_target()) {
    const bool exists = xrcds_.find(a.xrc_domain) != nullptr;
    return exists ? Outcome<>() : refusal(Sy::create_qp_xrc_domain, a.xrc_domain);
  }
  if (pds_.find(a.pd, uid) == nullptr) return refusal(Sy::create_qp_pd, a.pd);
  const bool has_cq = has_send_queue(a) || a.send_cq != 0;
  if (has_cq && cqs_.find(a.send_cq, uid) == nullptr) {
    return refusal(Sy::create_qp_send_cq, a.send_cq);
  }
  const UarUse* const page = uars_.find(a.uar, uid);
  if (page == nullptr) return refusal(Sy::create_qp_uar, a.uar);
  if (a.no_send_record && page->type != UarType::registers) {
    return refusal(Sy::create_qp_no_record_register, a.uar);
  }
  if (a.no_send_record && page->has_recordless) {
    return refusal(Sy::create_qp_second_without_record, a.uar);
  }
  if (a.log_send_wqebbs > kMaxLogQueue) {
    return refusal(Sy::create_qp_send_size, 0, a.log_send_wqebbs);
  }
  if (a.send_queue.value == 0 || a.send_queue.value % format::kWqebbBytes != 0) {
    return refusal(Sy::create_qp_send_queue);
  }
  if (a.doorbell_record.value == 0 || a.doorbell_record.value % 8 != 0) {
    return refusal(Sy::create_qp_record);
  }
  return check_receives(a, uid);
}

Outcome<> Engine::check_receives(const QpAttributes& a, Uid uid) const {
  using Sy = CommandSyndrome;
  if (!a.has_receive_queue && !a.srq) return {};
  if (a.service >= ServiceType::xrc) return refusal(Sy::create_qp_initiator_receives);
  if (a.srq && a.has_receive_queue) return refusal(Sy::create_qp_two_sources, *a.srq);
  const Srq* const srq = a.srq ? srqs_.find(*a.srq, uid) : nullptr;
  if (a.srq && srq == nullptr) return refusal(Sy::create_qp_srq, *a.srq);
  if (a.srq && srq->xrc()) return refusal(Sy::create_qp_xrc_srq, *a.srq);
  if (cqs_.find(a.receive_cq, uid) == nullptr) {
    return refusal(Sy::create_qp_receive_cq, a.receive_cq);
  }
  if (a.srq) return {};
  if (a.log_receive_wqes > kMaxLogQueue) {
    return refusal(Sy::create_qp_receive_size, 0, a.log_receive_wqes);
  }
  if (a.log_receive_stride < kMinLogStride || a.log_receive_stride > kMaxLogStride) {
    return refusal(Sy::create_qp_receive_stride, 0, a.log_receive_stride);
  }
  if (a.receive_queue.value == 0 || a.receive_queue.value % format::kSegmentBytes != 0) {
    return refusal(Sy::create_qp_receive_queue);
  }
  return {};
}

std::unique_ptr<Qp> Engine::make_qp(QpNumber qpn, const QpAttributes& attributes) {
  Srq* const srq = attributes.srq ? srqs_.find(*attributes.srq) : nullptr;
  auto qp = std::make_unique<Qp>(qpn, attributes, options_.window, srq);
  qp->timer.qp = qp.get();
  timers_.add();
  if (attributes.is_xrc_target()) return qp;
  if (attributes.service == ServiceType::dc) qp->send.dc = std::make_unique<DcInitiator>();
  qp->common.send_cq = cqs_.find(attributes.send_cq);
  const bool receives = attributes.has_receive_queue || srq != nullptr;
  qp->common.receive_cq = receives ? cqs_.find(attributes.receive_cq) : nullptr;
  return qp;
}

Outcome<QpNumber> Engine::create_qp(const QpAttributes& attributes, Uid uid) {
  const Outcome<> checked = check_qp(attributes, uid);
  if (!checked) return checked.status();
  const auto number = qps_.take();
  if (!number) return refusal(CommandSyndrome::create_qp_numbers);
  const QpAttributes kept = kept_of(attributes);
  count_users(qps_.put(*number, uid, make_qp(*number, kept)), 1);
  for_memory(kept,
             [this](const MemoryRange& range) { core_.port.attach(range.base, range.length); });
  return *number;
}

// What the queue pair uses has one user more, or one less.
void Engine::count_users(const Qp& qp, int change) {
  const auto count = [change](std::uint32_t& users) {
    users += static_cast<std::uint32_t>(change);
  };
  const QpAttributes& a = qp.common.attributes;
  if (a.is_xrc_target()) {
    count(xrcds_.find(a.xrc_domain)->users);
    return;
  }
  count(pds_.find(a.pd)->users);
  if (a.uar != 0) {
    UarUse& page = *uars_.find(a.uar);
    count(page.users);
    if (a.no_send_record) page.has_recordless = change > 0;
  }
  if (qp.common.send_cq != nullptr) count(qp.common.send_cq->users);
  if (qp.common.receive_cq != nullptr) count(qp.common.receive_cq->users);
  if (a.srq) count(srqs_.find(*a.srq)->users);
}

// Calls `use` with each piece of memory that a queue pair has for itself.
template <class Use>
void Engine::for_memory(const QpAttributes& attributes, Use use) const {
  if (attributes.is_xrc_target()) return;
  use(MemoryRange{attributes.send_queue,
                  std::uint64_t{format::kWqebbBytes} << attributes.log_send_wqebbs});
  use(MemoryRange{attributes.doorbell_record, sizeof(format::DoorbellRecord)});
  if (!attributes.has_receive_queue) return;
  use(MemoryRange{attributes.receive_queue, std::uint64_t{1} << (attributes.log_receive_wqes +
                                                                 attributes.log_receive_stride)});
}

Outcome<QpInfo> Engine::query_qp(QpNumber qpn, Uid uid) const {
  const Qp* const found = qps_.find(qpn, uid);
  if (found == nullptr) return refusal(CommandSyndrome::query_qp_absent, qpn);
  const Qp& qp = *found;
  QpInfo info;
  info.state = qp.common.state;
  info.sq_draining = info.state == QpState::sqd && qp.sq_draining;
  if (qp.unreliable != nullptr) {
    info.next_send_psn = qp.unreliable->send.next_psn;
    info.next_receive_psn = qp.unreliable->receive.expected_psn;
  } else {
    info.next_send_psn = qp.send.next_psn;
    info.next_receive_psn = qp.receive.expected_psn;
    info.last_acked_psn = psn_add(qp.send.unacked_psn, kPsnMask);
    info.rmsn = qp.receive.msn;
  }
  info.send_producer = qp.send_queue.producer();
  info.send_started = qp.send_queue.started();
  info.send_completed = qp.send_queue.completed();
  info.receive_posted = qp.receive_queue.producer();
  info.receive_taken = qp.receive_queue.consumer();
  info.record_behind = qp.send_queue.record_behind();
  info.first_error = qp.common.first_error;
  return info;
}

UarNumber Engine::uar_of_qp(QpNumber qpn) const {
  const Qp* const qp = qps_.find(qpn);
  return qp == nullptr ? 0 : qp->common.attributes.uar;
}

std::vector<QpNumber> Engine::qps_where(bool (*holds)(const Qp&)) const {
  std::vector<QpNumber> found;
  for (QpNumber qpn = qps_.begin_number(); qpn < qps_.end_number(); ++qpn) {
    const Qp* const qp = qps_.find(qpn);
    if (qp != nullptr && holds(*qp)) found.push_back(qpn);
  }
  return found;
}

std::vector<QpNumber> Engine::broken_qps() const {
  if (!core_.any_broken) return {};
  return qps_where(
      [](const Qp& qp) { return qp.common.first_error.syndrome != format::Syndrome::none; });
}

std::vector<QpNumber> Engine::recordless_qps() const {
  if (!core_.any_behind) return {};
  return qps_where([](const Qp& qp) { return qp.send_queue.record_behind(); });
}

Outcome<QueueCounters> Engine::query_counters(QpNumber qpn, Uid uid) const {
  const Qp* const qp = qps_.find(qpn, uid);
  if (qp == nullptr) return refusal(CommandSyndrome::query_qp_absent, qpn);
  return qp->common.counters;
}

NicCount Engine::count() const {
  NicCount count{core_.counters};
  core_.wire.add_counters(count.nic);
  for (const QpNumber qpn : qps_where([](const Qp&) { return true; })) {
    count.queues.push_back({qpn, qps_.find(qpn)->common.counters});
    count.nic += count.queues.back().counters;
  }
  for (const DctNumber number : dcts()) {
    count.queues.push_back({number, dc_targets_.counters(*dcts_.find(number))});
    count.nic += count.queues.back().counters;
  }
  return count;
}

Outcome<> Engine::destroy_qp(QpNumber qpn, Uid uid) {
  Qp* const found = qps_.find(qpn, uid);
  if (found == nullptr) return refusal(CommandSyndrome::destroy_qp_absent, qpn);
  const QpCommon& common = found->common;
  count_users(*found, -1);
  core_.counters += common.counters;
  std::vector<MemoryRange> memory;
  for_memory(common.attributes, [&](const MemoryRange& range) { memory.push_back(range); });
  bury(qps_.remove(qpn), std::move(memory));
  return {};
}

}  // namespace gdakit::softnic
