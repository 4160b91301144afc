// An address of IP and a port, as programs of rdma_cm name each other. Addresses are GIDs: those of
// IPv4 are ::ffff:a.b.c.d.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/softnic/objects/addresses.h"

namespace gdakit::softnic::uverbs::cm {

struct IpPort {
  Gid ip{};
  std::uint16_t port = 0;

  friend bool operator==(const IpPort&, const IpPort&) = default;
};

// Of struct sockaddr_ib, whose header is not of C++.
inline constexpr std::uint16_t kAfIb = 27;
inline constexpr std::uint16_t kSockaddrIbBytes = 48;

// 0.0.0.0 or ::
bool is_any(const Gid& ip);

// A struct sockaddr_in, or sockaddr_in6, or a sockaddr_ib with no address, which means any. None:
// another family, or too short.
std::optional<IpPort> read_sockaddr(std::span<const std::uint8_t> sockaddr);
// Of IPv4 a sockaddr_in, of others a sockaddr_in6.
std::vector<std::uint8_t> sockaddr_of(const IpPort& address);

// As the names of a fabric have it, which are short: "any", the eight hexadecimal digits of IPv4,
// or 16 that stand for an address of IPv6.
std::string name_of(const Gid& ip);

}  // namespace gdakit::softnic::uverbs::cm
