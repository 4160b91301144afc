// Where a NIC is reached over IP: an address and a UDP port.
//
//   Result<UdpAddress> address = UdpAddress::parse("10.0.0.7");   // "[fd00::7]:4792"
#pragma once

#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>

#include "backends/softnic/wire/roce_icrc.h"
#include "core/base/result.h"

namespace gdakit::softnic {

struct UdpAddress {
  roce::IpAddress ip;
  std::uint16_t port = roce::kUdpPort;

  // "10.0.0.7", "10.0.0.7:4792", "fd00::7" or "[fd00::7]:4792": numbers, no names. Without a port
  // it is RoCEv2's. Refuses IPv6's addresses that mean something on one link only (fe80::/10), and
  // those that wrap one of IPv4.
  static Result<UdpAddress> parse(std::string_view text);
  // As parse() takes it, with the port.
  std::string text() const;

  // 127.0.0.0/8 and ::1, which are this host's on every host.
  bool is_loopback() const;
  // 0.0.0.0 and ::, which stand for all interfaces.
  bool is_unspecified() const { return ip.bytes == decltype(ip.bytes){}; }

  // fe80::/10, which each link has for itself.
  bool is_link_local() const;

  bool operator==(const UdpAddress&) const = default;
};

// As the invariant CRC sees it.
roce::UdpWay way_between(const UdpAddress& from, const UdpAddress& to);

// As the system's calls take it.
union SocketAddress {
  SocketAddress() : v6{} {}
  explicit SocketAddress(const UdpAddress& address);

  socklen_t size() const { return any.sa_family == AF_INET6 ? sizeof v6 : sizeof v4; }
  UdpAddress address() const;

  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

}  // namespace gdakit::softnic
