#include "backends/softnic/wire/nic_place.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <optional>
#include <string>
#include <sys/ioctl.h>
#include <vector>

#include "backends/softnic/wire/udp_holder.h"

namespace gdakit::softnic {
namespace {

struct Interface {
  std::string name;
  UdpAddress address;
};

// Those that are up: others before the loopback, IPv4's before IPv6's.
std::vector<Interface> interfaces() {
  std::vector<Interface> all;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return all;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* row = list; row != nullptr; row = row->ifa_next) {
    const sockaddr* const any = row->ifa_addr;
    if (any == nullptr || (row->ifa_flags & IFF_UP) == 0) continue;
    const bool is_v6 = any->sa_family == AF_INET6;
    if (!is_v6 && any->sa_family != AF_INET) continue;
    SocketAddress socket_address;
    std::memcpy(&socket_address.any, any, is_v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
    Interface one{row->ifa_name, socket_address.address()};
    one.address.port = roce::kUdpPort;
    if (!one.address.is_link_local()) all.push_back(std::move(one));
  }
  std::stable_partition(all.begin(), all.end(),
                        [](const Interface& one) { return !one.address.ip.is_v6; });
  std::stable_partition(all.begin(), all.end(),
                        [](const Interface& one) { return !one.address.is_loopback(); });
  return all;
}

std::string host_of(const UdpAddress& address) {
  const std::string text = address.text();
  return text.substr(0, text.rfind(':'));
}

std::string listed(const std::vector<Interface>& all) {
  std::string text;
  for (const Interface& one : all) {
    text += (text.empty() ? "" : ", ") + one.name + " (" + host_of(one.address) + ")";
  }
  return text.empty() ? "no interface that is up" : text;
}

Error not_here(std::string_view text, const std::vector<Interface>& all) {
  return Error(Code::invalid_argument, "\"" + std::string(text) + "\": this host has " +
                                           listed(all) + ", and no address there");
}

struct Network {
  UdpAddress address;
  unsigned bits = 0;
};

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view host = text.substr(0, slash), length = text.substr(slash + 1);
  const Result<UdpAddress> address = UdpAddress::parse(host);
  Network network;
  const char* const end = length.data() + length.size();
  const auto [stop, error] = std::from_chars(length.data(), end, network.bits);
  if (!address || address->port != roce::kUdpPort || error != std::errc() || stop != end ||
      network.bits > (address->ip.is_v6 ? 128u : 32u)) {
    return std::nullopt;
  }
  network.address = *address;
  return network;
}

bool contains(const Network& network, const roce::IpAddress& ip) {
  if (ip.is_v6 != network.address.ip.is_v6) return false;
  for (unsigned bit = 0; bit < network.bits; ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80u >> bit % 8);
    if (((ip.bytes[bit / 8] ^ network.address.ip.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool is_all_loopback(const Network& network) {
  return !network.address.ip.is_v6 && network.address.ip.bytes[0] == 127 && network.bits == 8;
}

UdpAddress loopback(std::uint32_t nic) {
  UdpAddress address;
  const std::uint32_t host = nic + 1;
  address.ip.bytes = {127, static_cast<std::uint8_t>(host >> 16),
                      static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host)};
  return address;
}

Result<NicPlace> in_network(const Network& network, std::string_view text, std::uint32_t nic) {
  if (is_all_loopback(network)) return NicPlace{loopback(nic)};
  const std::vector<Interface> all = interfaces();
  for (const Interface& one : all) {
    if (contains(network, one.address.ip)) return NicPlace{one.address};
  }
  return not_here(text, all);
}

// Nothing if no interface has the name, or the port is none.
std::optional<NicPlace> on_interface(std::string_view text, const std::vector<Interface>& all) {
  const auto named = [&all](std::string_view name) {
    return std::find_if(all.begin(), all.end(),
                        [name](const Interface& one) { return one.name == name; });
  };
  // A name may have a colon of its own, as eth0:1.
  if (const auto whole = named(text); whole != all.end()) return NicPlace{whole->address};
  const std::size_t colon = text.rfind(':');
  const auto found = named(text.substr(0, colon));
  if (colon == std::string_view::npos || found == all.end()) return std::nullopt;
  NicPlace place{found->address, true};
  const std::string_view port = text.substr(colon + 1);
  const char* const end = port.data() + port.size();
  const auto [stop, error] = std::from_chars(port.data(), end, place.address.port);
  if (error != std::errc() || stop != end) return std::nullopt;
  return place;
}

// Of an address as UdpAddress::parse() takes it.
bool names_port(std::string_view text) {
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) return false;
  const bool is_v6 = text.find(':', first + 1) != std::string_view::npos;
  return !is_v6 || text.find("]:") != std::string_view::npos;
}

// Looks at all processes: for errors that a user reads.
Error naming_holder(const Error& error, const UdpAddress& address) {
  const std::string holder = udp_holder(address);
  const std::string ends = holder.empty() ? "" : "; " + holder + " has it";
  return Error(error.code(), error.message() + ends, error.system_code());
}

// By open(address).
template <class Open>
auto open_at_or_free(const NicPlace& place, const Open& open) -> decltype(open(place.address)) {
  auto opened = open(place.address);
  if (opened || opened.error().system_code() != EADDRINUSE) return opened;
  if (place.has_port) return naming_holder(opened.error(), place.address);
  UdpAddress any_port = place.address;
  any_port.port = 0;
  return open(any_port);
}

}  // namespace

Result<NicPlace> find_nic_place(std::string_view text, std::uint32_t nic) {
  if (const auto network = parse_network(text)) return in_network(*network, text, nic);
  const std::vector<Interface> all = interfaces();
  if (const auto place = on_interface(text, all)) return *place;
  const Result<UdpAddress> address = UdpAddress::parse(text);
  if (address) return NicPlace{*address, names_port(text)};
  return Error(address.error().code(),
               address.error().message() +
                   "; or the name of an interface, or a network like 10.0.0.0/8. This host has " +
                   listed(all));
}

std::string interface_of(const UdpAddress& address) {
  const std::vector<Interface> all = interfaces();
  const auto one = std::find_if(all.begin(), all.end(), [&](const Interface& interface) {
    return interface.address.ip == address.ip;
  });
  return one == all.end() ? "lo" : one->name;
}

Result<std::uint32_t> longest_packet_of(const std::string& interface) {
  const UniqueFileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  interface.copy(request.ifr_name, sizeof request.ifr_name - 1);
  if (socket && ::ioctl(socket.get(), SIOCGIFMTU, &request) == 0) {
    return static_cast<std::uint32_t>(request.ifr_mtu);
  }
  return Error::from_errno("the MTU of " + interface + " cannot be found", errno);
}

Result<UdpSocket> open_at(const NicPlace& place) {
  return open_at_or_free(place, [](const UdpAddress& address) { return UdpSocket::open(address); });
}

Result<std::vector<UdpSocket>> open_shared_at(const NicPlace& place, std::uint32_t count) {
  return open_at_or_free(
      place, [count](const UdpAddress& address) { return UdpSocket::open_shared(address, count); });
}

}  // namespace gdakit::softnic
