// What leads to a connection, and ends it.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <random>
#include <string>
#include <utility>

#include "backends/softnic/uverbs/cm/manager.h"
#include "backends/softnic/uverbs/context.h"
#include "backends/softnic/uverbs/limits.h"
#include "core/base/wait_clock.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

constexpr std::uint8_t kAckTimeout = 17;  // 0.5 s, as the kernel's of RoCE
constexpr int kMostBacklog = 1024;

// enum ib_mtu: 256 is 1, 4096 is 5.
std::uint8_t mtu_code(std::uint32_t mtu) {
  return static_cast<std::uint8_t>(std::bit_width(mtu / 256));
}

std::uint64_t service_id(PortSpace space, std::uint16_t port) {
  return std::uint64_t{static_cast<std::uint16_t>(space)} << 16 | port;
}

}  // namespace

// The NIC that leads there, and the way.
int Manager::resolve(Id& id, const IpPort& wanted) {
  IpPort destination = wanted;
  if (is_any(destination.ip)) destination.ip = ip_of_nic(spec_, std::max(id.nic, 0));
  if (!is_reachable(destination.ip) && !is_multicast(destination.ip)) return ENODEV;
  const int index = id.nic >= 0 ? id.nic : std::max(own_nic(destination.ip), 0);
  if (const Result<Device*> opened = nic(index); !opened) return errno_of(opened.error());
  id.nic = index;
  const bool is_loopback = fabric_ip(destination.ip) != destination.ip;
  id.source.ip = is_loopback ? destination.ip : ip_of_nic(spec_, index);
  id.destination = destination;
  id.way = way_to(id, destination.ip);
  return 0;
}

// On InfiniBand the NIC's LID is known by its address, as its index is.
Way Manager::way_to(const Id& id, const Gid& ip) const {
  const Gid destination = fabric_ip(ip);
  Way way;
  way.source = gid_of_nic(spec_, id.nic);
  way.destination = destination;
  if (is_multicast(destination)) {
    way.destination = gid_of_group(spec_, id.space, destination);
    if (spec_.link == LinkLayer::infiniband) way.destination_lid = lid_of_group(way.destination);
  } else if (spec_.link == LinkLayer::infiniband) {
    const Identity peer(spec_, destination[15] - 1);
    way.source_lid = Identity(spec_, id.nic).lid();
    way.destination = peer.local_gid();
    way.destination_lid = peer.lid();
  }
  way.mtu_code = mtu_code(device_of(id).mtu());
  way.traffic_class = id.type_of_service;
  way.ack_timeout = id.ack_timeout.value_or(kAckTimeout);
  return way;
}

int Manager::listen(const File& file, std::uint32_t handle, std::uint32_t backlog) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  if (id->state == Id::State::idle) {
    if (const int error = bind_to(*id, id->source)) return error;
  }
  if (id->state != Id::State::bound) return EINVAL;
  std::vector<KeptFile> listened;
  for (int index = 0; index < spec_.nics; ++index) {
    if (id->nic >= 0 && id->nic != index) continue;
    const Result<Device*> opened = nic(index);
    if (!opened) return errno_of(opened.error());
    auto name =
        ports_.listen(id->space, {ip_of_nic(spec_, index), id->source.port}, (*opened)->place());
    if (!name) return EADDRINUSE;
    listened.push_back(std::move(*name));
  }
  const bool is_given = backlog > 0 && backlog < static_cast<std::uint32_t>(kMostBacklog);
  id->backlog = is_given ? static_cast<int>(backlog) : kMostBacklog;
  id->listened = std::move(listened);
  id->state = Id::State::listening;
  return 0;
}

// 0, or why there is nobody.
int Manager::find_peers(const Id& id, std::set<Endpoint>& peers) {
  if (is_of_fabric(id.destination.ip)) {
    const auto place =
        ports_.find_listener(id.space, {fabric_ip(id.destination.ip), id.destination.port});
    if (!place) return ECONNREFUSED;
    peers.insert(*place);
    return 0;
  }
  for (Endpoint place = 0; place < kPlaces; ++place) {
    const auto peer = device_of(id).addresses().far()->endpoint_of(id.destination.ip, place);
    if (!peer) return ENETUNREACH;
    peers.insert(*peer);
  }
  return 0;
}

void Manager::note_peer_name(Id& id) {
  id.peer_name.clear();
  if (id.peers.size() != 1 || *id.peers.begin() >= kPlaces) return;
  for (const Member& member : fabric_members(spec_.fabric, names_)) {
    if (member.place == *id.peers.begin()) id.peer_name = member.name;
  }
}

void Manager::begin_connection(Id& id, std::set<Endpoint> peers) {
  while (connections_.contains(last_number_) || last_number_ == 0) ++last_number_;
  id.peers = std::move(peers);
  id.state = Id::State::connecting;
  id.connection.emplace(id, last_number_, std::random_device{}() & kMostNumber);
  connections_[last_number_++] = id.shared_from_this();
  note_peer_name(id);
}

int Manager::connect(const File& file, std::uint32_t handle, const ConnectParameters& parameters) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  if (id->state != Id::State::route_resolved || is_multicast(id->destination.ip)) return EINVAL;
  Message message;
  message.kind = id->is_datagram() ? MessageKind::sidr_req : MessageKind::req;
  if (parameters.private_data.size() > private_bytes(message.kind)) return EINVAL;
  std::set<Endpoint> peers;
  if (find_peers(*id, peers) != 0) {
    id->state = Id::State::connecting;
    if (id->is_datagram()) tell(*id, EventKind::unreachable, kSidrUnsupported);
    if (!id->is_datagram()) tell(*id, EventKind::rejected, kInvalidServiceId);
    return 0;
  }
  message.unreliable = id->kind == QpKind::uc;
  message.service_id = service_id(id->space, id->destination.port);
  message.guid = Identity(spec_, id->nic).guid();
  message.qp = parameters.qp;
  message.ece = parameters.ece;
  message.way = id->way;
  message.source = id->source;
  message.destination = id->destination;
  message.private_data = parameters.private_data;
  begin_connection(*id, std::move(peers));
  id->connection->request(std::move(message), steady_ns());
  wake();
  return 0;
}

int Manager::accept(const File& file, std::uint32_t handle, std::uint64_t uid,
                    const ConnectParameters& parameters) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  const auto state = id->connection ? id->connection->state() : Connection::State::idle;
  if (state != Connection::State::req_received && state != Connection::State::sidr_received) {
    return EINVAL;
  }
  Message message;
  message.kind = id->is_datagram() ? MessageKind::sidr_rep : MessageKind::rep;
  if (parameters.private_data.size() > private_bytes(message.kind)) return EINVAL;
  message.guid = Identity(spec_, id->nic).guid();
  message.qp = parameters.qp;
  message.ece = parameters.ece;
  message.private_data = parameters.private_data;
  id->uid = uid;
  id->connection->answer(std::move(message), steady_ns());
  wake();
  return 0;
}

int Manager::confirm(const File& file, std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  return id->connection && id->connection->confirm({}) ? 0 : EINVAL;
}

int Manager::reject(const File& file, std::uint32_t handle, std::uint16_t reason,
                    const std::vector<std::uint8_t>& private_data) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  const MessageKind kind = id->is_datagram() ? MessageKind::sidr_rep : MessageKind::rej;
  if (!id->connection || private_data.size() > private_bytes(kind)) return EINVAL;
  const bool done = id->connection->refuse(reason, private_data, steady_ns());
  wake();
  return done ? 0 : EINVAL;
}

// What has ended needs no other end.
int Manager::disconnect(const File& file, std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  if (!id->connection || id->is_datagram()) return EINVAL;
  id->connection->disconnect(steady_ns());
  wake();
  return 0;
}

int Manager::communication_established(const File& file, std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  if (!id->connection) return EINVAL;
  id->connection->communication_established();
  return 0;
}

}  // namespace gdakit::softnic::uverbs::cm
