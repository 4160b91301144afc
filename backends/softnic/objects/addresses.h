// How datagrams find their way: GIDs and LIDs, which address vectors name, and the endpoints that a
// wire knows.
//
//   address vector --> endpoint_of --> Endpoint, to which the datagram goes
//   Endpoint, from which one came --> address_of --> what its receiver reads of the sender
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/softnic/objects/attributes.h"

namespace gdakit::softnic {

using Gid = std::array<std::uint8_t, 16>;  // as its bytes lie on the wire

// Whether the GID stands for an IPv4 address: ::ffff:a.b.c.d.
inline bool is_ipv4(const Gid& gid) {
  constexpr std::array<std::uint8_t, 12> kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kPrefix.begin(), kPrefix.end(), gid.begin());
}

// Whether it is that of a group: ff.. of InfiniBand and IPv6, or 224.0.0.0/4 of IPv4.
inline bool is_multicast(const Gid& gid) {
  return gid[0] == 0xff || (is_ipv4(gid) && gid[12] >> 4 == 0xe);
}

// A queue pair that a datagram is for.
struct Receiver {
  Endpoint endpoint = 0;
  QpNumber qpn = 0;
};

// Where a datagram, or a request of DC, goes, as its WQE says it.
struct AddressVector {
  Gid gid = {};  // zeroes, if the address vector is a short one
  QpNumber qpn = 0;
  std::uint32_t qkey = 0;    // of UD
  std::uint64_t dc_key = 0;  // of DC: the target's
  std::uint16_t lid = 0;     // InfiniBand: of the port; RoCE: it is not an address
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
  // Of a queue pair that is connected without a GRH: on InfiniBand its QPN says whose it is, and
  // what LIDs there are is a subnet manager's matter.
  bool by_qpn_alone = false;
};

// A NIC's own address.
struct PortAddress {
  Gid gid = {};
  std::uint16_t lid = 0;  // 0: the port is one of Ethernet (RoCE)
};

// Knows who has which address. Whoever owns the NIC brings it; it outlives the NIC. The NIC asks it
// from whichever thread runs its step, one at a time and for each datagram: it answers at once, and
// calls nothing of the NIC.
class AddressResolver {
 public:
  virtual ~AddressResolver() = default;

  // The endpoint that has this address and this queue pair, which may share the address with
  // others. Nothing: nobody has; the datagram is lost.
  virtual std::optional<Endpoint> endpoint_of(const AddressVector& address) = 0;
  // Adds those who are in the group, each of which gets a packet of its own.
  virtual void find_members(const Gid& group, std::vector<Receiver>& to) {
    static_cast<void>(group);
    static_cast<void>(to);
  }
  // Zeroes where nothing is known.
  virtual PortAddress address_of(Endpoint endpoint) = 0;
};

}  // namespace gdakit::softnic
