// What managers hear from each other, and what time brings.
#include <algorithm>
#include <chrono>
#include <random>
#include <unordered_set>
#include <utility>

#include "backends/softnic/uverbs/cm/manager.h"
#include "core/base/wait_clock.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

constexpr std::uint64_t kBetweenLooksNs = 250'000'000;

bool is_request(MessageKind kind) {
  return kind == MessageKind::req || kind == MessageKind::sidr_req;
}

// A peer on this host, whose process may end unheard.
bool is_watched(const Id& id) { return !id.peer_name.empty() && id.connection->needs_peer(); }

PortSpace space_of(std::uint64_t service_id) { return static_cast<PortSpace>(service_id >> 16); }

}  // namespace

void Manager::wake() {
  {
    const std::lock_guard lock(inbox_mutex_);
    is_woken_ = true;
  }
  woken_.notify_one();
}

void Manager::run() {
  while (true) {
    std::optional<std::uint64_t> deadline;
    {
      const std::lock_guard lock(mutex_);
      deadline = next_deadline_ns();
    }
    std::vector<Heard> heard;
    {
      std::unique_lock lock(inbox_mutex_);
      const auto is_due = [this] { return is_woken_ || is_ending_ || !inbox_.empty(); };
      if (deadline) {
        const std::uint64_t now = steady_ns();
        woken_.wait_for(lock, std::chrono::nanoseconds(std::max(*deadline, now) - now), is_due);
      } else {
        woken_.wait(lock, is_due);
      }
      if (is_ending_) return;
      is_woken_ = false;
      heard.swap(inbox_);
    }
    const std::lock_guard lock(mutex_);
    for (const Heard& one : heard) hear(one);
    pass_time();
  }
}

std::optional<std::uint64_t> Manager::next_deadline_ns() const {
  std::optional<std::uint64_t> next;
  const auto at_last = [&next](std::uint64_t ns) { next = next ? std::min(*next, ns) : ns; };
  for (const auto& [number, id] : connections_) {
    if (const auto deadline = id->connection->deadline_ns()) at_last(*deadline);
    if (is_watched(*id)) at_last(looked_ns_ + kBetweenLooksNs);
  }
  return next;
}

void Manager::transmit(const Id& id, const Message& message) {
  Device& device = device_of(id);
  const Mad mad = encode(message);
  for (const Endpoint peer : id.peers) device.mads().send(device.nic(), peer, mad);
}

void Manager::reply(const Heard& to, const Message& message) {
  Device& device = *nics_.at(to.nic);
  device.mads().send(device.nic(), to.from, encode(message));
}

void Manager::hear(const Heard& heard) {
  const std::optional<Message> message = decode(heard.mad);
  if (!message) return;
  if (is_request(message->kind)) return hear_request(heard, *message);
  const IdPtr id = find_connection(heard, *message);
  if (id) {
    if (id->peers.size() > 1) {
      id->peers = {heard.from};
      note_peer_name(*id);
    }
    id->connection->receive(*message, steady_ns());
    return;
  }
  // Whoever says so has lost what it had here, or what it was told: it need not wait.
  Message answer;
  answer.local_id = message->remote_id;
  answer.remote_id = message->local_id;
  if (message->kind == MessageKind::dreq) {
    answer.kind = MessageKind::drep;
    reply(heard, answer);
  } else if (message->kind == MessageKind::rep) {
    answer.kind = MessageKind::rej;
    answer.answered = kOfRep;
    answer.reason = kInvalidCommId;
    reply(heard, answer);
  }
}

// By its own number; who withdraws a request has not heard of that yet.
Manager::IdPtr Manager::find_connection(const Heard& heard, const Message& message) const {
  const auto is_from_peer = [&heard](const Id& id) {
    return id.nic == heard.nic && id.peers.contains(heard.from);
  };
  const auto at = connections_.find(message.remote_id);
  if (at != connections_.end()) return is_from_peer(*at->second) ? at->second : nullptr;
  if (message.kind != MessageKind::rej || message.remote_id != 0) return nullptr;
  for (const auto& [key, id] : requests_) {
    if (id->peer_request == message.local_id && is_from_peer(*id)) return id;
  }
  return nullptr;
}

Manager::IdPtr Manager::find_listener(const Heard& heard, const Message& message) const {
  for (const auto& [handle, id] : ids_) {
    if (id->state == Id::State::listening && id->space == space_of(message.service_id) &&
        id->source.port == message.destination.port && (id->nic < 0 || id->nic == heard.nic) &&
        id->is_datagram() == (message.kind == MessageKind::sidr_req)) {
      return id;
    }
  }
  return nullptr;
}

void Manager::hear_request(const Heard& heard, const Message& message) {
  const RequestKey key{message.source.ip, message.source.port, message.local_id, message.kind};
  const auto before = requests_.find(key);
  if (before != requests_.end()) {
    before->second->connection->receive(message, steady_ns());
    return;
  }
  const IdPtr listener = find_listener(heard, message);
  if (!listener) return refuse_request(heard, message);
  // With no room for it, it is as lost: it comes again.
  if (listener->backlog == 0) return;
  ask_listener(listener, heard, message);
}

// From another host requests come to all places of this one: who has that port is to answer.
void Manager::refuse_request(const Heard& heard, const Message& message) {
  const PortSpace space = space_of(message.service_id);
  if (heard.from >= kPlaces && ports_.has_listener(space, message.destination.port)) return;
  Message answer;
  answer.remote_id = message.local_id;
  answer.service_id = message.service_id;
  if (message.kind == MessageKind::req) {
    answer.kind = MessageKind::rej;
    answer.reason = kInvalidServiceId;
  } else {
    answer.kind = MessageKind::sidr_rep;
    answer.reason = kSidrUnsupported;
  }
  reply(heard, answer);
}

void Manager::ask_listener(const IdPtr& listener, const Heard& heard, const Message& message) {
  const IdPtr id = make_id(listener->file, listener->space, listener->kind);
  if (!id) return;
  id->nic = heard.nic;
  id->source = message.destination;
  id->destination = message.source;
  id->type_of_service = message.way.traffic_class;
  id->ack_timeout = listener->ack_timeout;
  id->way = way_to(*id, message.source.ip);
  if (message.way.mtu_code != 0) {
    id->way.mtu_code = std::min(id->way.mtu_code, message.way.mtu_code);
  }
  id->peer_request = message.local_id;
  begin_connection(*id, {heard.from});
  Message agreed = message;
  agreed.way = id->way;
  id->connection->requested(agreed);
  requests_[{message.source.ip, message.source.port, message.local_id, message.kind}] = id;
  --listener->backlog;
  Event event{.kind = EventKind::connect_request, .id = listener, .asked = id};
  event.uid = listener->uid;
  event.handle = id->handle;
  event.is_datagram = id->is_datagram();
  event.way = id->way;
  event.nic = id->nic;
  event.qp = message.qp;
  std::swap(event.qp.responder_resources, event.qp.initiator_depth);
  event.ece = message.ece;
  event.private_data = message.private_data;
  listener->file->push(std::move(event));
}

void Manager::pass_time() {
  const std::uint64_t now = steady_ns();
  for (const auto& [number, id] : connections_) id->connection->pass(now);
  look_for_peers(now);
  forget_ended();
}

// A process that is killed says nothing; its NIC's name goes with it.
void Manager::look_for_peers(std::uint64_t now_ns) {
  if (now_ns < looked_ns_ + kBetweenLooksNs) return;
  const auto watches = [](const auto& one) { return is_watched(*one.second); };
  if (!std::ranges::any_of(connections_, watches)) return;
  looked_ns_ = now_ns;
  std::unordered_set<std::string> found;
  for (const Member& member : fabric_members(spec_.fabric, names_)) found.insert(member.name);
  for (const auto& [number, id] : connections_) {
    if (is_watched(*id) && !found.contains(id->peer_name)) id->connection->peer_is_gone(now_ns);
  }
}

void Manager::forget_ended() {
  const auto is_forgotten = [](const auto& one) {
    const Id& id = *one.second;
    const Connection::State state = id.connection->state();
    return id.file == nullptr &&
           (state == Connection::State::ended || state == Connection::State::sidr_answered);
  };
  std::erase_if(connections_, is_forgotten);
  std::erase_if(requests_, is_forgotten);
}

}  // namespace gdakit::softnic::uverbs::cm
