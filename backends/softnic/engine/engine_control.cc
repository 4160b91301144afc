// The control path: creating, changing and removing objects.
#include <algorithm>
#include <string>

#include "backends/softnic/engine/engine.h"
#include "core/format/doorbell.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMaxLogCqEntries = 22;
constexpr std::uint32_t kMaxLogQueue = 15;
constexpr std::uint32_t kMaxLogReads = 7;
constexpr std::uint32_t kMaxTimeoutCode = 31;
constexpr std::uint32_t kMaxLogMessage = 30;  // as ConnectX says; at any MTU fewer PSNs than half
constexpr std::uint32_t kMaxRetries = 7;

Error invalid(std::string message) { return Error(Code::invalid_argument, std::move(message)); }

Error missing(const char* call, const char* what, std::uint32_t number) {
  return Error(Code::not_found, std::string(call) + ": there is no " + what + " " +
                                    std::to_string(number) + "; it was never created or is gone");
}

Error in_use(const char* call, const char* what, std::uint32_t number, const char* users) {
  return invalid(std::string(call) + ": " + what + " " + std::to_string(number) +
                 " is still used by " + users + "; destroy those first");
}

Error no_numbers(const char* call) {
  return Error(Code::exhausted,
               std::string(call) + ": all numbers are in use; destroy some objects");
}

}  // namespace

const char* qp_state_name(QpState state) {
  switch (state) {
    case QpState::reset: return "reset";
    case QpState::init: return "init";
    case QpState::rtr: return "rtr";
    case QpState::rts: return "rts";
    case QpState::err: return "err";
  }
  return "unknown";
}

Result<PdNumber> Engine::alloc_pd() {
  const auto number = pds_.take();
  if (!number) return no_numbers("alloc_pd");
  pds_.put(*number, std::make_unique<Pd>());
  return *number;
}

Result<> Engine::dealloc_pd(PdNumber pd) {
  const Pd* object = pds_.find(pd);
  if (object == nullptr) return missing("dealloc_pd", "protection domain", pd);
  if (object->users != 0 || core_.keys.count(pd) != 0) {
    return in_use("dealloc_pd", "protection domain", pd, "memory keys or queue pairs");
  }
  pds_.remove(pd);
  return {};
}

Result<UarNumber> Engine::alloc_uar(UarType type) {
  const auto number = uars_.take();
  if (!number) return no_numbers("alloc_uar");
  uars_.put(*number, std::make_unique<UarUse>()).type = type;
  return *number;
}

Result<> Engine::free_uar(UarNumber uar) {
  const UarUse* object = uars_.find(uar);
  if (object == nullptr) return missing("free_uar", "doorbell page", uar);
  if (object->users != 0) {
    return in_use("free_uar", "doorbell page", uar, "queue pairs or completion queues");
  }
  uars_.remove(uar);
  return {};
}

Result<MemoryKey> Engine::reg_mr(const MrAttributes& attributes) {
  if (pds_.find(attributes.pd) == nullptr) {
    return missing("reg_mr", "protection domain", attributes.pd);
  }
  Result<MemoryKey> key = core_.keys.add(attributes);
  if (!key) return key;
  for (const MemoryRange& piece : core_.keys.memory(*key)) {
    core_.port.attach(piece.base, piece.length);
  }
  return key;
}

Result<> Engine::dereg_mr(MemoryKey key) {
  const Result<> removed = core_.keys.remove(key);
  if (!removed) return removed;
  // Its entry says where it was until the index is used again.
  remove({.key = key, .memory = core_.keys.memory(key)});
  return {};
}

Result<CqNumber> Engine::create_cq(const CqAttributes& attributes) {
  if (attributes.log_entries > kMaxLogCqEntries) {
    return invalid("create_cq: 2^" + std::to_string(attributes.log_entries) +
                   " entries are more than 2^" + std::to_string(kMaxLogCqEntries));
  }
  if (attributes.entries.value == 0 || attributes.entries.value % sizeof(format::Cqe64) != 0) {
    return invalid("create_cq: the entries must be given and aligned to 64 bytes");
  }
  const bool has_record = !attributes.overrun_ignore || attributes.uar != 0;
  if (has_record && attributes.doorbell_record.value % 8 != 0) {
    return invalid("create_cq: the doorbell record must be aligned to 8 bytes");
  }
  if (has_record && attributes.doorbell_record.value == 0) {
    return invalid("create_cq: give a doorbell record, or set overrun_ignore and no doorbell page");
  }
  UarUse* const page = uars_.find(attributes.uar);
  if (attributes.uar != 0 && page == nullptr) {
    return missing("create_cq", "doorbell page", attributes.uar);
  }
  if (page != nullptr && page->type != UarType::registers) {
    return invalid("create_cq: doorbell page " + std::to_string(attributes.uar) +
                   " is dense; a completion queue is armed through one of type registers");
  }
  const auto number = cqs_.take();
  if (!number) return no_numbers("create_cq");
  Cq& cq =
      cqs_.put(*number, std::make_unique<Cq>(*number, attributes, core_.port, options_.short_cqes));
  if (page != nullptr) {
    ++page->users;
    armable_.push_back(cq);
  }
  for (const MemoryRange& range : cq.memory()) core_.port.attach(range.base, range.length);
  return *number;
}

Result<CqInfo> Engine::query_cq(CqNumber cq) const {
  const Cq* object = cqs_.find(cq);
  if (object == nullptr) return missing("query_cq", "completion queue", cq);
  return object->info();
}

Result<> Engine::destroy_cq(CqNumber cq) {
  Cq* object = cqs_.find(cq);
  if (object == nullptr) return missing("destroy_cq", "completion queue", cq);
  if (object->users != 0) return in_use("destroy_cq", "completion queue", cq, "queue pairs");
  if (core_.active_cqs.holds(*object)) core_.active_cqs.remove(*object);
  if (armable_.holds(*object)) {
    armable_.remove(*object);
    --uars_.find(object->uar())->users;
  }
  remove({.memory = object->memory(), .cq = cqs_.remove(cq)});
  return {};
}

Result<> Engine::check(const QpAttributes& attributes) const {
  const QpAttributes& a = attributes;
  if (pds_.find(a.pd) == nullptr) return missing("create_qp", "protection domain", a.pd);
  if (cqs_.find(a.send_cq) == nullptr) return missing("create_qp", "completion queue", a.send_cq);
  if (uars_.find(a.uar) == nullptr) return missing("create_qp", "doorbell page", a.uar);
  if (a.log_send_wqebbs > kMaxLogQueue) {
    return invalid("create_qp: a send queue has at most 2^15 WQEBBs");
  }
  if (a.send_queue.value == 0 || a.send_queue.value % format::kWqebbBytes != 0) {
    return invalid("create_qp: the send queue must be given and aligned to 64 bytes");
  }
  if (a.doorbell_record.value == 0 || a.doorbell_record.value % 8 != 0) {
    return invalid("create_qp: the doorbell record must be given and aligned to 8 bytes");
  }
  if (!a.has_receive_queue) return {};
  if (cqs_.find(a.receive_cq) == nullptr) {
    return missing("create_qp", "completion queue", a.receive_cq);
  }
  if (a.log_receive_wqes > kMaxLogQueue || a.log_receive_stride < 4 ||
      (1u << std::min(a.log_receive_stride, 31u)) > kMaxReceiveStride) {
    return invalid("create_qp: a receive queue has at most 2^15 WQEs of 16 to 512 bytes each");
  }
  if (a.receive_queue.value == 0 || a.receive_queue.value % format::kSegmentBytes != 0) {
    return invalid("create_qp: the receive queue must be given and aligned to 16 bytes");
  }
  return {};
}

std::unique_ptr<Qp> Engine::make_qp(QpNumber qpn, const QpAttributes& attributes) {
  auto qp = std::make_unique<Qp>(qpn, attributes, options_.window);
  qp->timer.qp = qp.get();
  timers_.add();
  qp->common.send_cq = cqs_.find(attributes.send_cq);
  qp->common.receive_cq = attributes.has_receive_queue ? cqs_.find(attributes.receive_cq) : nullptr;
  return qp;
}

Result<QpNumber> Engine::create_qp(const QpAttributes& attributes) {
  const Result<> checked = check(attributes);
  if (!checked) return checked.error();
  const auto number = qps_.take();
  if (!number) return no_numbers("create_qp");
  Qp& qp = qps_.put(*number, make_qp(*number, attributes));
  ++pds_.find(attributes.pd)->users;
  ++uars_.find(attributes.uar)->users;
  ++qp.common.send_cq->users;
  if (qp.common.receive_cq != nullptr) ++qp.common.receive_cq->users;
  for_memory(attributes,
             [this](const MemoryRange& range) { core_.port.attach(range.base, range.length); });
  return *number;
}

// Calls `use` with each piece of memory that a queue pair has for itself.
template <class Use>
void Engine::for_memory(const QpAttributes& attributes, Use use) const {
  use(MemoryRange{attributes.send_queue,
                  std::uint64_t{format::kWqebbBytes} << attributes.log_send_wqebbs});
  use(MemoryRange{attributes.doorbell_record, sizeof(format::DoorbellRecord)});
  if (!attributes.has_receive_queue) return;
  use(MemoryRange{attributes.receive_queue, std::uint64_t{1} << (attributes.log_receive_wqes +
                                                                 attributes.log_receive_stride)});
}

Result<Qp*> Engine::find_qp(const char* call, QpNumber qpn) const {
  Qp* qp = qps_.find(qpn);
  if (qp == nullptr) return missing(call, "queue pair", qpn);
  return qp;
}

Result<> Engine::check_transition(const Qp& qp, const QpModify& modify) const {
  const QpState from = qp.common.state;
  const QpState to = modify.state;
  const bool legal = to == QpState::err || to == QpState::reset ||
                     (from == QpState::reset && to == QpState::init) ||
                     (from == QpState::init && to == QpState::rtr) ||
                     (from == QpState::rtr && to == QpState::rts);
  if (!legal) {
    return invalid("modify_qp: queue pair " + std::to_string(qp.common.number) +
                   " cannot go from " + qp_state_name(from) + " to " + qp_state_name(to) +
                   "; the way is reset, init, rtr, rts");
  }
  if (to == QpState::rtr) {
    if (modify.log_rra_max > kMaxLogReads || modify.min_rnr_nak > kMaxTimeoutCode ||
        modify.log_msg_max > kMaxLogMessage || modify.next_receive_psn > kPsnMask ||
        modify.remote_qpn > 0xffffff) {
      return invalid(
          "modify_qp: to rtr, log_rra_max is at most 7, min_rnr_nak at most 31, log_msg_max at "
          "most 30, PSN and QPN 24 bits");
    }
  }
  if (to == QpState::rts) {
    if (modify.log_sra_max > kMaxLogReads || modify.ack_timeout > kMaxTimeoutCode ||
        modify.retry_count > kMaxRetries || modify.rnr_retry > kMaxRetries ||
        modify.next_send_psn > kPsnMask) {
      return invalid(
          "modify_qp: to rts, log_sra_max, retry_count and rnr_retry are at most 7, "
          "ack_timeout at most 31, PSN 24 bits");
    }
  }
  return {};
}

void Engine::enter_rtr(Qp& qp, const QpModify& modify) {
  qp.connection.remote_endpoint = modify.remote_endpoint;
  qp.connection.remote_qpn = modify.remote_qpn;
  QpModify& path = qp.common.path;
  path.log_rra_max = modify.log_rra_max;
  path.min_rnr_nak = modify.min_rnr_nak;
  path.log_msg_max = modify.log_msg_max;
  qp.receive.expected_psn = modify.next_receive_psn;
  qp.receive.done_psn = psn_add(modify.next_receive_psn, kPsnMask);
  qp.receive.results.assign(std::size_t{1} << modify.log_rra_max, 0);
  qp.receive.replays.assign(std::size_t{1} << modify.log_rra_max, Replay{});
}

void Engine::enter_rts(Qp& qp, const QpModify& modify) {
  QpModify& path = qp.common.path;
  path.log_sra_max = modify.log_sra_max;
  path.ack_timeout = modify.ack_timeout;
  path.retry_count = modify.retry_count;
  path.rnr_retry = modify.rnr_retry;
  qp.send.psn = qp.send.next_psn = qp.send.unacked_psn = modify.next_send_psn;
  qp.send_queue.begin(modify.send_wqebb_counter);
}

Result<> Engine::modify_qp(QpNumber qpn, const QpModify& modify) {
  const Result<Qp*> found = find_qp("modify_qp", qpn);
  if (!found) return found.error();
  Qp& qp = **found;
  const Result<> checked = check_transition(qp, modify);
  if (!checked) return checked;
  switch (modify.state) {
    case QpState::reset: {
      // A fresh queue pair takes the number; what the old one has under way ends with it.
      std::unique_ptr<Qp> fresh = make_qp(qpn, qp.common.attributes);
      bury(std::exchange(*qps_.slot(qpn), std::move(fresh)), {});
      return {};
    }
    case QpState::init: qp.common.path.access = modify.access; break;
    case QpState::rtr:
      enter_rtr(qp, modify);
      started_ = true;
      break;
    case QpState::rts: enter_rts(qp, modify); break;
    case QpState::err: core_.fail(qp.common, {}); break;
  }
  qp.common.state = modify.state;
  if (modify.state != QpState::init && !connected_.holds(qp)) connected_.push_back(qp);
  activate(qp);
  return {};
}

Result<QpInfo> Engine::query_qp(QpNumber qpn) const {
  const Result<Qp*> found = find_qp("query_qp", qpn);
  if (!found) return found.error();
  const Qp& qp = **found;
  QpInfo info;
  info.state = qp.common.state;
  info.next_send_psn = qp.send.next_psn;
  info.next_receive_psn = qp.receive.expected_psn;
  info.last_acked_psn = psn_add(qp.send.unacked_psn, kPsnMask);
  info.send_producer = qp.send_queue.producer();
  info.send_started = qp.send_queue.started();
  info.send_completed = qp.send_queue.completed();
  info.record_behind = qp.send_queue.record_behind();
  info.first_error = qp.common.first_error;
  return info;
}

std::vector<QpNumber> Engine::qps_where(bool (*holds)(const Qp&)) const {
  std::vector<QpNumber> found;
  for (QpNumber qpn = 0; qpn < qps_.size(); ++qpn) {
    const Qp* const qp = qps_.find(qpn);
    if (qp != nullptr && holds(*qp)) found.push_back(qpn);
  }
  return found;
}

std::vector<QpNumber> Engine::broken_qps() const {
  return qps_where(
      [](const Qp& qp) { return qp.common.first_error.syndrome != format::Syndrome::none; });
}

std::vector<QpNumber> Engine::recordless_qps() const {
  return qps_where([](const Qp& qp) { return qp.send_queue.record_behind(); });
}

Result<> Engine::destroy_qp(QpNumber qpn) {
  const Result<Qp*> found = find_qp("destroy_qp", qpn);
  if (!found) return found.error();
  Qp& qp = **found;
  const QpCommon& common = qp.common;
  --pds_.find(common.attributes.pd)->users;
  --uars_.find(common.attributes.uar)->users;
  --common.send_cq->users;
  if (common.receive_cq != nullptr) --common.receive_cq->users;
  std::vector<MemoryRange> memory;
  for_memory(common.attributes, [&](const MemoryRange& range) { memory.push_back(range); });
  bury(qps_.remove(qpn), std::move(memory));
  return {};
}

// Takes the queue pair off every list. Its buffers stay until no DMA writes to them.
void Engine::bury(std::unique_ptr<Qp> qp, std::vector<MemoryRange> memory) {
  if (active_.holds(*qp)) active_.remove(*qp);
  if (connected_.holds(*qp)) connected_.remove(*qp);
  timers_.remove(qp->timer);
  remove({.memory = std::move(memory), .qp = std::move(qp)});
}

void Engine::remove(Removed removed) {
  for (const Recall::Taken& packet : removals_.add(std::move(removed))) {
    Qp* const qp = qps_.find(packet.sender);
    if (qp == nullptr) continue;
    requester_.forgotten(qp->send, packet.psn);
    activate(*qp);
  }
}

bool Engine::removed(RemovalNumber number) {
  removals_.step();
  return removals_.ended(number);
}

bool Engine::drained() {
  removals_.step();
  return removals_.empty();
}

}  // namespace gdakit::softnic
