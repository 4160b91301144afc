#include "backends/softnic/uverbs/far_hosts.h"

#include <algorithm>

#include "backends/softnic/uverbs/fabric.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::size_t kIpv4Begin = 12;

}  // namespace

std::optional<roce::IpAddress> ip_of(const Gid& gid) {
  UdpAddress address;
  address.ip.is_v6 = !is_ipv4(gid);
  if (address.ip.is_v6) {
    address.ip.bytes = gid;
  } else {
    std::copy(gid.begin() + kIpv4Begin, gid.end(), address.ip.bytes.begin());
  }
  constexpr std::uint8_t kMulticast = 0xff;
  const bool is_multicast = address.ip.is_v6 && gid[0] == kMulticast;
  if (is_multicast || address.is_unspecified() || address.is_link_local()) return std::nullopt;
  return address.ip;
}

Gid gid_of(const roce::IpAddress& ip) {
  if (ip.is_v6) return ip.bytes;
  Gid gid{};
  gid[10] = gid[11] = 0xff;
  std::copy_n(ip.bytes.begin(), 4, gid.begin() + kIpv4Begin);
  return gid;
}

std::optional<Endpoint> FarHosts::endpoint_of(const Gid& host, Endpoint place) {
  const auto ip = ip_of(host);
  return ip ? find(*ip, place, kMostHosts) : std::nullopt;
}

bool FarHosts::may_send(const UdpAddress& from) const {
  return from.port >= first_port_ && from.port - first_port_ < static_cast<int>(kPlaces);
}

std::optional<Endpoint> FarHosts::sender(const UdpAddress& from, bool of_anyone) {
  if (!may_send(from)) return std::nullopt;
  const auto place = static_cast<Endpoint>(from.port - first_port_);
  return find(from.ip, place, of_anyone ? kMostHeardOf : 0);
}

// One that is not known is added if fewer than `most` are.
std::optional<Endpoint> FarHosts::find(const roce::IpAddress& ip, Endpoint place,
                                       std::size_t most) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find(hosts_.begin(), hosts_.end(), ip);
  const auto host = static_cast<std::size_t>(at - hosts_.begin());
  if (at == hosts_.end() && host >= most) return std::nullopt;
  if (at == hosts_.end()) hosts_.push_back(ip);
  return static_cast<Endpoint>((host + 1) * kPlaces + place);
}

UdpAddress FarHosts::address_of(Endpoint endpoint) const {
  const std::lock_guard lock(mutex_);
  const std::size_t host = endpoint / kPlaces;
  if (host == 0 || host > hosts_.size()) return {};
  return {hosts_[host - 1], static_cast<std::uint16_t>(first_port_ + endpoint % kPlaces)};
}

}  // namespace gdakit::softnic::uverbs
