#include "backends/softnic/uverbs/fabric_addresses.h"

#include <algorithm>

#include "backends/softnic/uverbs/fabric.h"
#include "core/base/wait_clock.h"

namespace gdakit::softnic::uverbs {

FabricAddresses::FabricAddresses(const Spec& spec, int index)
    : link_(spec.link), groups_(spec.fabric) {
  const Identity own(spec, index);
  own_.gid = own.local_gid();
  if (link_ == LinkLayer::infiniband) own_.lid = own.lid();
  const bool is_reached = !spec.reached_at.empty();
  const int with_address = is_reached ? spec.nics : kMostNics;
  for (unsigned port = 1; port <= kMostPorts; ++port) {
    for (int nic = 0; nic < kMostNics; ++nic) gids_.push_back(Identity(spec, nic).local_gid(port));
    if (link_ == LinkLayer::infiniband || (is_reached && port > 1)) continue;
    for (int nic = 0; nic < with_address; ++nic) {
      gids_.push_back(Identity(spec, nic).routable_gid(port));
    }
  }
  if (own.reached_at() != nullptr) far_.emplace(own.reached_at()->port);
}

bool FabricAddresses::is_known(const AddressVector& address) const {
  const bool has_lid = link_ == LinkLayer::infiniband && address.lid >= 1 &&
                       address.lid <= unsigned{kMostNics} * kMostPorts;
  const bool by_qpn = link_ == LinkLayer::infiniband && address.by_qpn_alone;
  return has_lid || by_qpn || std::find(gids_.begin(), gids_.end(), address.gid) != gids_.end();
}

std::optional<Endpoint> FabricAddresses::endpoint_of(const AddressVector& address) {
  const Endpoint place = place_of(address.qpn);
  if (is_known(address)) return place;
  return far_ ? far_->endpoint_of(address.gid, place) : std::nullopt;
}

void FabricAddresses::find_members(const Gid& group, std::vector<Receiver>& to) {
  if (!is_multicast(group)) return;
  for (const QpNumber qpn : groups_.members(group, steady_ns())) {
    to.push_back({place_of(qpn), qpn});
  }
}

PortAddress FabricAddresses::address_of(Endpoint endpoint) {
  if (endpoint < kPlaces || !far_) return own_;
  return {.gid = gid_of(far_->address_of(endpoint).ip)};
}

}  // namespace gdakit::softnic::uverbs
