// The other hosts of a fabric that has an address: NICs there are reached over UDP, each by a port
// of its own (RoCEv2's packets, wire/udp_wire.h).
//
//   GID         ::ffff:10.0.0.8 or an address of IPv6, the host's
//   UDP port    the fabric's first port, 4791, + the NIC's place on its host's fabric
//   endpoint    below kPlaces this host's places; behind them those of each other host, as they
//               are met
//
// Nobody lists hosts. One is known once it is named, by an address that something is to be sent to,
// or heard of, as the sender of a packet of UD or DC.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/wire/udp_address.h"

namespace gdakit::softnic::uverbs {

// Safe from any thread.
class FarHosts {
 public:
  // Those that are met later are not answered. A host that is only heard of is added while fewer
  // than kMostHeardOf are known, so that strangers never fill the table.
  static constexpr std::size_t kMostHosts = 1024;
  static constexpr std::size_t kMostHeardOf = kMostHosts / 2;

  explicit FarHosts(std::uint16_t first_port) : first_port_(first_port) {}

  // Of a place on the host that has this GID. None: the GID is no address of IP, or too many hosts
  // are known.
  std::optional<Endpoint> endpoint_of(const Gid& host, Endpoint place);
  // Whether a NIC of a host sends from such a port.
  bool may_send(const UdpAddress& from) const;
  // Of who sends from there; `of_anyone`: a packet of UD or DC. None: likewise, a port of no place,
  // or a host that is not known and sends something else.
  std::optional<Endpoint> sender(const UdpAddress& from, bool of_anyone);
  // None (0.0.0.0) of an endpoint that was never told.
  UdpAddress address_of(Endpoint endpoint) const;

 private:
  std::optional<Endpoint> find(const roce::IpAddress& ip, Endpoint place, std::size_t most);

  const std::uint16_t first_port_;
  mutable std::mutex mutex_;
  std::vector<roce::IpAddress> hosts_;
};

// As a GID says it; nothing of one that is no address which other hosts know.
std::optional<roce::IpAddress> ip_of(const Gid& gid);
Gid gid_of(const roce::IpAddress& ip);

}  // namespace gdakit::softnic::uverbs
