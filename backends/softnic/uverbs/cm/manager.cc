#include "backends/softnic/uverbs/cm/manager.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include "backends/softnic/uverbs/context.h"
#include "backends/softnic/uverbs/prompt_threads.h"
#include "core/base/library_thread.h"
#include "core/base/wait_clock.h"

namespace gdakit::softnic::uverbs::cm {

Gid gid_of_nic(const Spec& spec, int index) { return Identity(spec, index).routable_gid(); }

Gid ip_of_nic(const Spec& spec, int index) {
  if (spec.link == LinkLayer::ethernet) return gid_of_nic(spec, index);
  Gid ip{};
  ip[10] = ip[11] = 0xff;
  ip[12] = 127;
  ip[15] = static_cast<std::uint8_t>(1 + index);
  return ip;
}

void Id::send(const Message& message) { manager.transmit(*this, message); }

void Id::happened(EventKind what, int status, const Message* message) {
  if (file == nullptr || uid == 0) return;
  Event event{.kind = what, .status = status, .id = shared_from_this(), .uid = uid};
  event.handle = handle;
  event.is_datagram = is_datagram();
  event.way = way;
  event.nic = nic;
  if (message != nullptr) {
    event.qp = message->qp;
    event.ece = message->ece;
    event.private_data = message->private_data;
  }
  file->push(std::move(event));
}

Manager::Manager(const Spec& spec, OpenNic open_nic)
    : spec_(spec),
      open_nic_(std::move(open_nic)),
      ports_(spec.fabric),
      last_number_(std::random_device{}()) {
  const PromptThreads prompt;
  thread_ = start_library_thread([this] { run(); });
}

Manager::~Manager() {
  {
    const std::lock_guard lock(mutex_);
    end_all();
  }
  {
    const std::lock_guard lock(inbox_mutex_);
    is_ending_ = true;
  }
  wake();
  thread_.join();
  for (const auto& [index, device] : nics_) device->mads().set_receiver(nullptr);
}

Result<Device*> Manager::nic(int index) {
  const auto at = nics_.find(index);
  if (at != nics_.end()) return at->second;
  Result<Device*> device = open_nic_(index);
  if (!device) return device;
  (*device)->mads().set_receiver([this, index](Endpoint from, const Mad& mad) {
    // A flood fills no memory: what is lost comes again.
    constexpr std::size_t kMost = 4096;
    {
      const std::lock_guard lock(inbox_mutex_);
      if (inbox_.size() < kMost) inbox_.push_back({index, from, mad});
    }
    woken_.notify_one();
  });
  nics_[index] = *device;
  return device;
}

Gid Manager::fabric_ip(const Gid& ip) const {
  constexpr Gid kLoopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return ip == kLoopback ? ip_of_nic(spec_, 0) : ip;
}

int Manager::own_nic(const Gid& ip) const {
  for (int index = 0; index < spec_.nics; ++index) {
    if (ip_of_nic(spec_, index) == fabric_ip(ip)) return index;
  }
  return -1;
}

// Of a NIC of this host, this process's or another one's.
bool Manager::is_of_fabric(const Gid& ip) const {
  if (!spec_.reached_at.empty()) return own_nic(ip) >= 0;
  for (int index = 0; index < kMostNics; ++index) {
    if (ip_of_nic(spec_, index) == fabric_ip(ip)) return true;
  }
  return false;
}

bool Manager::is_reachable(const Gid& ip) const {
  return is_of_fabric(ip) || (!spec_.reached_at.empty() && ip_of(ip));
}

Manager::IdPtr Manager::find(const File& file, std::uint32_t handle) const {
  const auto at = ids_.find(handle);
  return at == ids_.end() || at->second->file.get() != &file ? nullptr : at->second;
}

// Null: there are too many. Handles are below 65536, as librdmacm keeps them.
Manager::IdPtr Manager::make_id(const std::shared_ptr<File>& file, PortSpace space, QpKind kind) {
  constexpr std::uint32_t kMost = 65536;
  if (ids_.size() >= kMost) return nullptr;
  while (ids_.contains(last_handle_)) last_handle_ = (last_handle_ + 1) % kMost;
  auto id = std::make_shared<Id>(*this, last_handle_);
  id->file = file;
  id->space = space;
  id->kind = kind;
  ids_[id->handle] = id;
  return id;
}

int Manager::create_id(const std::shared_ptr<File>& file, std::uint64_t uid, PortSpace space,
                       QpKind kind, std::uint32_t& handle) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = make_id(file, space, kind);
  if (!id) return ENOMEM;
  id->uid = uid;
  handle = id->handle;
  return 0;
}

// Requests that came for it and that nobody has fetched are refused, but for those that have ended
// before it.
void Manager::end_id(const IdPtr& id) {
  ids_.erase(id->handle);
  for (const Event& event : id->file->take_events(*id)) {
    if (event.asked && event.asked->file != nullptr) end_id(event.asked);
  }
  leave_all(*id);
  id->file = nullptr;
  id->listened.clear();
  id->port.reset();
  if (id->connection) id->connection->end(steady_ns());
}

int Manager::destroy_id(const File& file, std::uint32_t handle, std::uint32_t& events_reported) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  events_reported = id->events_reported;
  end_id(id);
  wake();
  return 0;
}

void Manager::close(const File& file) {
  const std::lock_guard lock(mutex_);
  std::vector<IdPtr> closed;
  for (const auto& [handle, id] : ids_) {
    if (id->file.get() == &file) closed.push_back(id);
  }
  for (const IdPtr& id : closed) {
    if (id->file != nullptr) end_id(id);
  }
  wake();
}

void Manager::end_all() {
  while (!ids_.empty()) end_id(IdPtr(ids_.begin()->second));
}

void Manager::try_close_all() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) end_all();
}

int Manager::query(const File& file, std::uint32_t handle, IdState& state) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  state = {id->state, id->kind, id->source, id->destination, id->nic, id->way, std::nullopt};
  if (id->connection && id->connection->state() != Connection::State::req_sent) {
    state.agreed = id->connection->agreed();
    if (id->ack_timeout) state.agreed->ack_timeout = *id->ack_timeout;
  }
  return 0;
}

std::optional<Event> Manager::next_event(File& file, bool will_wait) {
  const std::lock_guard lock(mutex_);
  std::optional<Event> event = file.pop();
  if (!event && will_wait) file.will_wait();
  if (!event) return event;
  if (event->group) {
    ++event->group->events_reported;
    return event;
  }
  ++event->id->events_reported;
  if (event->asked) ++event->id->backlog;
  return event;
}

void Manager::has_not_waited(File& file) {
  const std::lock_guard lock(mutex_);
  file.has_not_waited();
}

}  // namespace gdakit::softnic::uverbs::cm
