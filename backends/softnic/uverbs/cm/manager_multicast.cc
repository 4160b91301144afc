// Multicast groups of identifiers. The group itself is the queue pairs that are attached to it
// (multicast_groups.h): here its program learns how it is called, as from a subnet manager.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "backends/softnic/uverbs/cm/manager.h"

namespace gdakit::softnic::uverbs::cm {

// As IPoIB makes it of the address, in the default partition and of link-local scope, with another
// signature for the port space of UDP.
Gid gid_of_group(const Spec& spec, PortSpace space, const Gid& ip) {
  constexpr std::uint8_t kIpoib = 0x1b, kRdmaCm = 0x01;
  if (spec.link == LinkLayer::ethernet) return ip;
  const bool is_v4 = is_ipv4(ip);
  Gid group{};
  const std::size_t kept = is_v4 ? 4 : 10;  // bytes, at the end
  std::copy(ip.end() - static_cast<std::ptrdiff_t>(kept), ip.end(),
            group.end() - static_cast<std::ptrdiff_t>(kept));
  if (is_v4) group[12] &= 0x0f;
  group[0] = 0xff;
  group[1] = 0x12;
  group[2] = is_v4 ? 0x40 : 0x60;
  group[3] = space == PortSpace::udp ? kRdmaCm : kIpoib;
  group[4] = kDefaultPartition >> 8;
  group[5] = kDefaultPartition & 0xff;
  return group;
}

std::uint16_t lid_of_group(const Gid& group) {
  constexpr unsigned kFirst = 0xc000, kBits = 0x3ffe;
  return static_cast<std::uint16_t>(kFirst + ((group[14] << 8 | group[15]) & kBits));
}

int Manager::join(const File& file, std::uint32_t handle, std::uint64_t uid, const IpPort& address,
                  std::uint32_t& group) {
  const std::lock_guard lock(mutex_);
  const IdPtr id = find(file, handle);
  if (!id) return ENOENT;
  const bool is_bound = id->state == Id::State::bound || id->state == Id::State::address_resolved ||
                        id->state == Id::State::route_resolved;
  if (!id->is_datagram() || !is_bound || !is_multicast(address.ip)) return EINVAL;
  if (id->nic < 0) return ENODEV;
  while (groups_.contains(last_group_)) ++last_group_;
  const auto joined = std::make_shared<Group>(Group{.handle = last_group_++, .uid = uid});
  groups_[joined->handle] = id;
  id->groups.push_back(joined);
  group = joined->handle;
  Event event{.kind = EventKind::multicast_join, .id = id, .group = joined};
  event.uid = uid;
  event.handle = joined->handle;
  event.is_datagram = true;
  event.qp.qpn = kMulticastQp;
  event.qp.qkey = kUdpQkey;
  event.nic = id->nic;
  event.way.source = gid_of_nic(spec_, id->nic);
  event.way.destination = gid_of_group(spec_, id->space, address.ip);
  event.way.traffic_class = id->type_of_service;
  if (spec_.link == LinkLayer::infiniband) {
    event.way.destination_lid = lid_of_group(event.way.destination);
  }
  id->file->push(std::move(event));
  return 0;
}

int Manager::leave(const File& file, std::uint32_t group, std::uint32_t& events_reported) {
  const std::lock_guard lock(mutex_);
  const auto at = groups_.find(group);
  if (at == groups_.end() || at->second->file.get() != &file) return ENOENT;
  Id& id = *at->second;
  const auto left =
      std::ranges::find_if(id.groups, [group](const auto& one) { return one->handle == group; });
  id.file->drop_events(**left);
  events_reported = (*left)->events_reported;
  id.groups.erase(left);
  groups_.erase(at);
  return 0;
}

void Manager::leave_all(Id& id) {
  for (const auto& group : id.groups) groups_.erase(group->handle);
  id.groups.clear();
}

}  // namespace gdakit::softnic::uverbs::cm
