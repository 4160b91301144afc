#include "backends/softnic/uverbs/cm/ip_port.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <netinet/in.h>

namespace gdakit::softnic::uverbs::cm {
namespace {

constexpr std::size_t kIpv4Begin = 12;

// Within a struct sockaddr_ib.
constexpr std::size_t kIbAddress = 8, kIbServiceId = 24;

template <class Sockaddr>
Sockaddr load(std::span<const std::uint8_t> bytes) {
  Sockaddr address{};
  std::memcpy(&address, bytes.data(), sizeof address);
  return address;
}

template <class Sockaddr>
std::vector<std::uint8_t> stored(const Sockaddr& address) {
  std::vector<std::uint8_t> bytes(sizeof address);
  std::memcpy(bytes.data(), &address, sizeof address);
  return bytes;
}

std::optional<IpPort> read_ib(std::span<const std::uint8_t> bytes) {
  IpPort address;
  std::copy_n(bytes.begin() + kIbAddress, address.ip.size(), address.ip.begin());
  if (!is_any(address.ip)) return std::nullopt;
  address.port = static_cast<std::uint16_t>(bytes[kIbServiceId + 6] << 8 | bytes[kIbServiceId + 7]);
  return address;
}

}  // namespace

bool is_any(const Gid& ip) {
  const auto begin = ip.begin() + (is_ipv4(ip) ? kIpv4Begin : 0);
  return std::all_of(begin, ip.end(), [](std::uint8_t byte) { return byte == 0; });
}

std::optional<IpPort> read_sockaddr(std::span<const std::uint8_t> sockaddr) {
  std::uint16_t family = 0;
  if (sockaddr.size() < sizeof family) return std::nullopt;
  std::memcpy(&family, sockaddr.data(), sizeof family);
  IpPort address;
  if (family == AF_INET && sockaddr.size() >= sizeof(sockaddr_in)) {
    const auto in = load<sockaddr_in>(sockaddr);
    address.ip[10] = address.ip[11] = 0xff;
    std::memcpy(&address.ip[kIpv4Begin], &in.sin_addr, sizeof in.sin_addr);
    address.port = ntohs(in.sin_port);
    return address;
  }
  if (family == AF_INET6 && sockaddr.size() >= sizeof(sockaddr_in6)) {
    const auto in6 = load<sockaddr_in6>(sockaddr);
    std::memcpy(address.ip.data(), &in6.sin6_addr, address.ip.size());
    address.port = ntohs(in6.sin6_port);
    return address;
  }
  if (family == kAfIb && sockaddr.size() >= kSockaddrIbBytes) return read_ib(sockaddr);
  return std::nullopt;
}

std::vector<std::uint8_t> sockaddr_of(const IpPort& address) {
  if (is_ipv4(address.ip)) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::memcpy(&in.sin_addr, &address.ip[kIpv4Begin], sizeof in.sin_addr);
    return stored(in);
  }
  sockaddr_in6 in6{};
  in6.sin6_family = AF_INET6;
  in6.sin6_port = htons(address.port);
  std::memcpy(&in6.sin6_addr, address.ip.data(), address.ip.size());
  return stored(in6);
}

std::string name_of(const Gid& ip) {
  if (is_any(ip)) return "any";
  std::uint64_t value = 0;
  if (is_ipv4(ip)) {
    for (std::size_t i = kIpv4Begin; i < ip.size(); ++i) value = value << 8 | ip[i];
  } else {
    // FNV-1a: no two addresses of one host have the same.
    value = 0xcbf29ce484222325;
    for (const std::uint8_t byte : ip) value = (value ^ byte) * 0x100000001b3;
  }
  char name[17];
  std::snprintf(name, sizeof name, is_ipv4(ip) ? "%08" PRIx64 : "%016" PRIx64, value);
  return name;
}

}  // namespace gdakit::softnic::uverbs::cm
