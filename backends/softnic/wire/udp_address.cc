#include "backends/softnic/wire/udp_address.h"

#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <cstring>

namespace gdakit::softnic {
namespace {

struct Parts {
  std::string host;
  bool in_brackets = false;
  std::string_view port;  // empty: none
};

// Nothing if the brackets or colons are not as they should be.
bool split(std::string_view text, Parts& parts) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    parts.host = text.substr(1, end - 1);
    parts.in_brackets = true;
    const std::string_view rest = text.substr(end + 1);
    if (rest.empty()) return true;
    parts.port = rest.substr(1);
    return rest.front() == ':' && !parts.port.empty();
  }
  const std::size_t colon = text.find(':');
  const bool is_v6 = colon != std::string_view::npos && text.find(':', colon + 1) != text.npos;
  parts.host = is_v6 ? text : text.substr(0, colon);
  if (is_v6 || colon == std::string_view::npos) return true;
  parts.port = text.substr(colon + 1);
  return !parts.port.empty();
}

bool take_host(const Parts& parts, roce::IpAddress& ip) {
  const std::string& host = parts.host;
  ip.is_v6 = host.find(':') != std::string::npos;
  const bool is_whole = host.find('\0') == std::string::npos;
  if (!is_whole || (parts.in_brackets && !ip.is_v6)) return false;
  return ::inet_pton(ip.is_v6 ? AF_INET6 : AF_INET, host.c_str(), ip.bytes.data()) == 1;
}

// Of IPv6: of one link, whose interface it does not say, or one of IPv4's.
in6_addr as_v6(const roce::IpAddress& ip) {
  in6_addr address;
  std::memcpy(&address, ip.bytes.data(), sizeof address);
  return address;
}

bool wraps_v4(const roce::IpAddress& ip) {
  const in6_addr address = as_v6(ip);
  return ip.is_v6 && IN6_IS_ADDR_V4MAPPED(&address);
}

bool take_port(std::string_view text, std::uint16_t& port) {
  if (text.empty()) return true;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<UdpAddress> UdpAddress::parse(std::string_view text) {
  UdpAddress address;
  Parts parts;
  if (!split(text, parts) || !take_host(parts, address.ip) ||
      !take_port(parts.port, address.port)) {
    return Error(
        Code::invalid_argument,
        "\"" + std::string(text) +
            "\" is no address of a NIC: it is an IP address in numbers, and a port if it is "
            "another than 4791, like 10.0.0.7, 10.0.0.7:4792 or [fd00::7]:4792");
  }
  if (address.is_link_local() || wraps_v4(address.ip)) {
    return Error(
        Code::invalid_argument,
        "\"" + std::string(text) +
            "\" cannot be a NIC's address: an address of one link (fe80::) or one that "
            "wraps IPv4's does not say how the NIC is reached; use a global one, or IPv4's");
  }
  return address;
}

bool UdpAddress::is_link_local() const {
  const in6_addr address = as_v6(ip);
  return ip.is_v6 && IN6_IS_ADDR_LINKLOCAL(&address);
}

std::string UdpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> host = {};
  ::inet_ntop(ip.is_v6 ? AF_INET6 : AF_INET, ip.bytes.data(), host.data(), host.size());
  const std::string number = std::to_string(port);
  return ip.is_v6 ? "[" + std::string(host.data()) + "]:" + number
                  : std::string(host.data()) + ":" + number;
}

bool UdpAddress::is_loopback() const {
  if (!ip.is_v6) return ip.bytes[0] == 127;
  in6_addr address;
  std::memcpy(&address, ip.bytes.data(), sizeof address);
  return IN6_IS_ADDR_LOOPBACK(&address);
}

roce::UdpWay way_between(const UdpAddress& from, const UdpAddress& to) {
  roce::UdpWay way;
  way.source = from.ip;
  way.destination = to.ip;
  way.source_port = from.port;
  way.destination_port = to.port;
  return way;
}

SocketAddress::SocketAddress(const UdpAddress& address) : SocketAddress() {
  if (address.ip.is_v6) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    std::memcpy(&v6.sin6_addr, address.ip.bytes.data(), sizeof v6.sin6_addr);
  } else {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    std::memcpy(&v4.sin_addr, address.ip.bytes.data(), sizeof v4.sin_addr);
  }
}

UdpAddress SocketAddress::address() const {
  UdpAddress address;
  address.ip.is_v6 = any.sa_family == AF_INET6;
  if (address.ip.is_v6) {
    address.port = ntohs(v6.sin6_port);
    std::memcpy(address.ip.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
  } else {
    address.port = ntohs(v4.sin_port);
    std::memcpy(address.ip.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
  }
  return address;
}

}  // namespace gdakit::softnic
