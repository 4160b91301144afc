#include "backends/softnic/uverbs/fabric_addresses.h"

#include <algorithm>

#include "backends/softnic/uverbs/fabric.h"

namespace gdakit::softnic::uverbs {

FabricAddresses::FabricAddresses(const Spec& spec, int index) : link_(spec.link) {
  const Identity own(spec, index);
  own_.gid = own.gid(0);
  if (link_ == LinkLayer::infiniband) own_.lid = own.lid();
  for (int nic = 0; nic < kMostNics; ++nic) {
    const Identity one(spec, nic);
    gids_.push_back(one.gid(0));
    if (link_ == LinkLayer::ethernet) gids_.push_back(one.gid(one.gids() - 1));
  }
}

bool FabricAddresses::is_known(const AddressVector& address) const {
  const bool has_lid =
      link_ == LinkLayer::infiniband && address.lid >= 1 && address.lid <= kMostNics;
  return has_lid || std::find(gids_.begin(), gids_.end(), address.gid) != gids_.end();
}

std::optional<Endpoint> FabricAddresses::endpoint_of(const AddressVector& address) {
  if (!is_known(address)) return std::nullopt;
  return place_of(address.qpn);
}

PortAddress FabricAddresses::address_of(Endpoint) { return own_; }

}  // namespace gdakit::softnic::uverbs
