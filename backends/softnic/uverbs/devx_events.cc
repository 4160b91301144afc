#include "backends/softnic/uverbs/devx_events.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace gdakit::softnic::uverbs {
namespace {

constexpr int kPort = -1;

// The PRM's numbers of events that objects have, those that never come here among them: of paths
// that migrate.
constexpr std::array<std::uint16_t, 14> kObjectEvents = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x07,
                                                         0x10, 0x11, 0x12, 0x13, 0x14, 0x1c, 0x1d};

DevxKind kind_of(EventKind kind) {
  switch (kind) {
    case EventKind::completion:
    case EventKind::cq_error: return DevxKind::cq;
    case EventKind::srq_error:
    case EventKind::srq_limit: return DevxKind::rmp;
    case EventKind::dct_drained:
    case EventKind::dct_key_violation: return DevxKind::dct;
    default: return DevxKind::qp;
  }
}

using Record = std::array<std::uint8_t, kCookieBytes + kEventQueueEntryBytes>;

// As hardware writes the entry: event_type is its byte 1, and each kind of event has its own data.
Record record_of(const Event& event, std::uint64_t cookie) {
  constexpr std::size_t kData = kCookieBytes + 0x20;
  constexpr std::size_t kQpType = kData + 0x14, kQpNumber = kData + 0x18;
  Record record{};
  std::memcpy(record.data(), &cookie, sizeof cookie);
  record[kCookieBytes + 1] = static_cast<std::uint8_t>(event.kind);
  const auto store_number = [&](std::size_t at) {
    for (std::size_t i = 0; i < 4; ++i) {
      record[at + i] = static_cast<std::uint8_t>(event.number >> (24 - 8 * i));
    }
  };
  switch (event.kind) {
    case EventKind::cq_error:
      store_number(kData);
      record[kData + 0xb] = event.syndrome;
      break;
    case EventKind::port_change:
      record[kCookieBytes + 3] = event.syndrome;  // event_sub_type
      record[kData + 8] = static_cast<std::uint8_t>(event.number << 4);
      break;
    default:
      record[kQpType] = kind_of(event.kind) == DevxKind::rmp ? 1 : 0;
      store_number(kQpNumber);
  }
  return record;
}

// Nothing waits: a counter that cannot be raised has been told often enough.
void tell_one(Subscription& one, const Event& event) {
  const auto pipe = one.pipe.lock();
  if (!pipe) return;
  if (!one.counter) {
    if (one.once && one.put > pipe->records_read()) return;
    if (pipe->put(record_of(event, one.cookie).data())) one.put = pipe->records_put();
    return;
  }
  const std::uint64_t once = 1;
  pollfd counter{one.counter->get(), POLLOUT, 0};
  if (::poll(&counter, 1, 0) != 1 || (counter.revents & POLLOUT) == 0) return;
  [[maybe_unused]] const ssize_t told = ::write(counter.fd, &once, sizeof once);
}

}  // namespace

bool is_object_event(std::uint16_t number) {
  return std::ranges::find(kObjectEvents, number) != kObjectEvents.end();
}

bool is_port_event(std::uint16_t number) {
  return number == static_cast<std::uint16_t>(EventKind::port_change);
}

DevxEvents::Key DevxEvents::key_of(std::optional<DevxName> object) {
  if (!object) return {kPort, 0};
  const DevxKind kind = object->kind;
  // Shared receive queues of every kind have their numbers from one space.
  const bool is_shared = kind == DevxKind::srq || kind == DevxKind::xrc_srq;
  return {static_cast<int>(is_shared ? DevxKind::rmp : kind), object->number};
}

void DevxEvents::subscribe(std::optional<DevxName> object, Subscription subscription) {
  const std::lock_guard lock(mutex_);
  subscriptions_.emplace(key_of(object), std::move(subscription));
  any_ = true;
}

void DevxEvents::unsubscribe(DevxName object) {
  const std::lock_guard lock(mutex_);
  subscriptions_.erase(key_of(object));
  any_ = !subscriptions_.empty();
}

bool DevxEvents::is_full() const {
  const std::lock_guard lock(mutex_);
  return subscriptions_.size() >= most_;
}

void DevxEvents::forget_closed() {
  const std::lock_guard lock(mutex_);
  std::erase_if(subscriptions_, [](const auto& one) { return one.second.pipe.expired(); });
  any_ = !subscriptions_.empty();
  most_ = std::max(kFewSubscriptions, 2 * subscriptions_.size());
}

void DevxEvents::tell(const Event& event) {
  if (!any_) return;
  const std::lock_guard lock(mutex_);
  const bool of_port = event.kind == EventKind::port_change;
  const auto object =
      of_port ? std::nullopt : std::optional(DevxName{kind_of(event.kind), event.number});
  const auto [begin, end] = subscriptions_.equal_range(key_of(object));
  for (auto at = begin; at != end; ++at) {
    if (at->second.kind == event.kind) tell_one(at->second, event);
  }
}

}  // namespace gdakit::softnic::uverbs
