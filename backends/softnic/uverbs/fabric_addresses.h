// How datagrams find their way on a fabric. Their QPN says the place (fabric.h); of their address
// it matters only whether a NIC of a fabric has it:
//
//   GID   fe80::<GUID of a port>, on Ethernet also ::ffff:127.0.0.<1 + index of a NIC>, of second
//         ports <17 + index>, or what the fabric has instead of it where it has an address; other
//         addresses of IP are then those of other hosts (far_hosts.h)
//   LID   1 + index of a NIC, of second ports 17 + index, on InfiniBand alone
//
// Which NIC of its process is at a place, no other process knows. So a datagram arrives though its
// address is that of one NIC and its QPN another one's; and a receiver is told its own NIC's
// address as the sender's, too, on Ethernet fe80::<GUID> whichever address the datagram was sent
// to. What is sent back there arrives.
#pragma once

#include <optional>
#include <vector>

#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/uverbs/far_hosts.h"
#include "backends/softnic/uverbs/multicast_groups.h"
#include "backends/softnic/uverbs/spec.h"

namespace gdakit::softnic::uverbs {

class FabricAddresses final : public AddressResolver {
 public:
  // Of the NIC with this index.
  FabricAddresses(const Spec& spec, int index);

  std::optional<Endpoint> endpoint_of(const AddressVector& address) override;
  void find_members(const Gid& group, std::vector<Receiver>& to) override;
  PortAddress address_of(Endpoint endpoint) override;

  // Null where other hosts are not reached.
  FarHosts* far() { return far_ ? &*far_ : nullptr; }
  const MulticastGroups& groups() const { return groups_; }

 private:
  bool is_known(const AddressVector& address) const;

  LinkLayer link_;
  PortAddress own_;
  std::vector<Gid> gids_;  // of NICs with any index
  std::optional<FarHosts> far_;
  MulticastGroups groups_;
};

}  // namespace gdakit::softnic::uverbs
