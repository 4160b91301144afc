// Which address an identifier has, and how it reaches others.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "backends/softnic/uverbs/cm/manager.h"
#include "backends/softnic/uverbs/context.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

constexpr std::uint16_t kFirstOwnPort = 32768;  // of those that connect, and never listen

}  // namespace

int Manager::bind_to(Id& id, IpPort address) {
  const int index = is_any(address.ip) ? -1 : own_nic(address.ip);
  if (index < 0 && !is_any(address.ip)) return EADDRNOTAVAIL;
  if (index >= 0) {
    if (const Result<Device*> opened = nic(index); !opened) return errno_of(opened.error());
  }
  std::optional<KeptFile> port = ports_.take(id.space, address);
  if (!port) return EADDRINUSE;
  id.port = std::move(port);
  id.source = address;
  id.nic = index;
  if (index >= 0) id.way.source = gid_of_nic(spec_, index);
  id.state = Id::State::bound;
  return 0;
}

int Manager::bind(const File& file, std::uint32_t handle, const IpPort& address) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  if (id->state != Id::State::idle) return EINVAL;
  return bind_to(*id, address);
}

void Manager::tell(Id& id, EventKind kind, int status) { id.happened(kind, status, nullptr); }

int Manager::resolve_address(const File& file, std::uint32_t handle, const IpPort& source,
                             const IpPort& destination) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  if (id->state != Id::State::idle && id->state != Id::State::bound) return EINVAL;
  const bool is_given = !is_any(source.ip) || source.port != 0;
  if (id->state == Id::State::idle && is_given) {
    if (const int error = bind_to(*id, source)) return error;
  }
  id->destination = destination;
  if (const int error = resolve(*id, destination)) {
    tell(*id, EventKind::addr_error, -error);
    return 0;
  }
  // Ports of those who only connect are their process's.
  if (id->source.port == 0) {
    last_port_ = std::max<std::uint16_t>(static_cast<std::uint16_t>(last_port_ + 1), kFirstOwnPort);
    id->source.port = last_port_;
  }
  id->state = Id::State::address_resolved;
  tell(*id, EventKind::addr_resolved, 0);
  return 0;
}

int Manager::resolve_route(const File& file, std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  if (id->state != Id::State::address_resolved) return EINVAL;
  id->state = Id::State::route_resolved;
  tell(*id, EventKind::route_resolved, 0);
  return 0;
}

int Manager::set_type_of_service(const File& file, std::uint32_t handle, std::uint8_t value) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  id->type_of_service = value;
  return 0;
}

int Manager::set_ack_timeout(const File& file, std::uint32_t handle, std::uint8_t value) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  id->ack_timeout = value;
  return 0;
}

int Manager::migrate(const File& from, const std::shared_ptr<File>& to, std::uint32_t handle,
                     std::uint32_t& events_reported) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(from, handle);
  if (!id) return ENOENT;
  std::vector<Event> events = id->file->take_events(*id);
  id->file = to;
  for (Event& event : events) {
    if (event.asked && event.asked->file != nullptr) event.asked->file = to;
    to->push(std::move(event));
  }
  events_reported = id->events_reported;
  return 0;
}

}  // namespace gdakit::softnic::uverbs::cm
