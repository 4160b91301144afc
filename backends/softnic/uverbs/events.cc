#include "backends/softnic/uverbs/events.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace gdakit::softnic::uverbs {
namespace {

// enum ibv_event_type, which the uapi does not have.
std::optional<std::uint32_t> verbs_event(EventKind kind) {
  switch (kind) {
    case EventKind::cq_error: return 0;
    case EventKind::qp_fatal: return 1;
    case EventKind::qp_invalid_request: return 2;
    case EventKind::qp_access_error: return 3;
    case EventKind::communication_established: return 4;
    case EventKind::sq_drained: return 5;
    case EventKind::srq_error: return 14;
    case EventKind::srq_limit: return 15;
    case EventKind::last_wqe: return 16;
    case EventKind::completion:
    case EventKind::dct_drained:
    case EventKind::dct_key_violation:
    case EventKind::port_change: break;
  }
  return std::nullopt;
}

constexpr std::uint32_t kPortActive = 9, kPortError = 10, kGidChange = 18;

void forget_closed(std::vector<std::weak_ptr<EventPipe>>& listeners) {
  std::erase_if(listeners, [](const auto& listener) { return listener.expired(); });
}

}  // namespace

EventBook::Entries& EventBook::entries_of(EventKind kind) {
  switch (kind) {
    case EventKind::completion:
    case EventKind::cq_error: return cqs_;
    case EventKind::srq_error:
    case EventKind::srq_limit: return srqs_;
    default: return qps_;
  }
}

void EventBook::add(Entries& to, std::uint32_t number, Listener listener) {
  const std::lock_guard lock(mutex_);
  to.emplace(number, Entry{std::move(listener), {}});
}

EventCounts EventBook::remove(Entries& from, Entries::iterator at) {
  const Listener& listener = at->second.listener;
  EventCounts read = at->second.put;
  if (listener.completions) read.completions -= listener.completions->withdraw(listener.element);
  if (listener.errors) read.errors -= listener.errors->withdraw(listener.element);
  from.erase(at);
  return read;
}

EventCounts EventBook::remove(Entries& from, std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  const auto at = from.find(number);
  return at == from.end() ? EventCounts{} : remove(from, at);
}

EventCounts EventBook::remove_cq(CqNumber cq) {
  devx_.unsubscribe({DevxKind::cq, cq});
  return remove(cqs_, cq);
}

EventCounts EventBook::remove_srq(SrqNumber srq) {
  devx_.unsubscribe({DevxKind::rmp, srq});
  return remove(srqs_, srq);
}

EventCounts EventBook::remove_qp(QpNumber qp, const Listener& listener) {
  EventCounts read;
  {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = qps_.equal_range(qp);
    const auto at = std::find_if(begin, end, [&listener](const auto& one) {
      const Listener& other = one.second.listener;
      return other.element == listener.element && other.errors == listener.errors;
    });
    if (at != end) read = remove(qps_, at);
    if (qps_.contains(qp)) return read;
  }
  devx_.unsubscribe({DevxKind::qp, qp});
  return read;
}

void EventBook::event(const Event& event) {
  devx_.tell(event);
  const std::lock_guard lock(mutex_);
  Entries& entries = entries_of(event.kind);
  const auto [begin, end] = entries.equal_range(event.number);
  for (auto at = begin; at != end; ++at) tell(at->second, event.kind);
}

void EventBook::tell(Entry& entry, EventKind kind) {
  const Listener& listener = entry.listener;
  if (kind == EventKind::completion) {
    const CompletionRecord record{listener.element};
    if (listener.completions && listener.completions->put(&record)) ++entry.put.completions;
    return;
  }
  const auto type = verbs_event(kind);
  if (!type || !listener.errors) return;
  const AsyncRecord record{listener.element, *type, 0};
  if (listener.errors->put(&record)) ++entry.put.errors;
}

void EventBook::add_port_listener(const std::shared_ptr<EventPipe>& errors) {
  const std::lock_guard lock(mutex_);
  forget_closed(port_listeners_);
  port_listeners_.push_back(errors);
}

void EventBook::port_changes(unsigned port, bool up) {
  devx_.tell({EventKind::port_change, port, static_cast<std::uint8_t>(up ? 4 : 1)});
  tell_port_listeners(port, up ? kPortActive : kPortError);
}

void EventBook::gids_change() { tell_port_listeners(1, kGidChange); }

void EventBook::tell_port_listeners(unsigned port, std::uint32_t event) {
  const std::lock_guard lock(mutex_);
  forget_closed(port_listeners_);
  const AsyncRecord record{port, event, 0};
  for (const auto& listener : port_listeners_) {
    if (const auto pipe = listener.lock()) pipe->put(&record);
  }
}

}  // namespace gdakit::softnic::uverbs
