#include "backends/softnic/uverbs/far_wire.h"

#include <string>
#include <utility>

#include "backends/softnic/uverbs/own_files.h"
#include "backends/softnic/wire/nic_place.h"
#include "core/base/log.h"
#include "core/base/wait_clock.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::uint64_t kBetweenTriesNs = 100'000'000;

// Of the interface that has the address: what the host sends to itself it carries whole.
Result<std::uint32_t> find_mtu(const UdpAddress& address) {
  const std::string interface = interface_of(address);
  const Result<std::uint32_t> longest = longest_packet_of(interface);
  if (!longest) return longest.error();
  const std::uint32_t mtu = longest_roce_mtu(*longest);
  if (mtu != 0) return mtu;
  return Error(Code::unavailable, interface + " carries packets of " + std::to_string(*longest) +
                                      " bytes, too short for RoCE; raise its MTU");
}

}  // namespace

Result<std::unique_ptr<FarWire>> FarWire::open(const UdpAddress& address, Endpoint place,
                                               FarHosts& hosts) {
  const UdpAddress own{address.ip, static_cast<std::uint16_t>(address.port + place)};
  const OpeningOwnFiles opening;
  Result<UdpSocket> socket = UdpSocket::open(own);
  if (!socket) return socket.error();
  const Result<std::uint32_t> mtu = find_mtu(address);
  if (!mtu) return mtu.error();
  UdpOptions options;
  options.endpoint = place;
  options.mtu = *mtu;
  options.may_come = [&hosts](const UdpAddress& from) { return hosts.may_send(from); };
  options.newcomer = [&hosts](const UdpAddress& from, bool of_anyone) {
    return hosts.sender(from, of_anyone);
  };
  Result<std::unique_ptr<UdpWire>> wire = UdpWire::create(std::move(*socket), options);
  if (!wire) return wire.error();
  return std::unique_ptr<FarWire>(new FarWire(std::move(*wire), hosts));
}

bool FarWire::send(const Packet& packet) {
  const Endpoint to = packet.header.destination;
  if (!connected_.contains(to) && may_try(to)) connect(to);
  return inner().send(packet);
}

bool FarWire::may_try(Endpoint endpoint) const {
  const auto refused = refused_ns_.find(endpoint);
  return refused == refused_ns_.end() || steady_ns() - refused->second >= kBetweenTriesNs;
}

void FarWire::connect(Endpoint endpoint) {
  const Result<> connected = udp_.connect(endpoint, hosts_.address_of(endpoint));
  if (connected) {
    connected_.insert(endpoint);
  } else if (refused_ns_.insert_or_assign(endpoint, steady_ns()).second) {
    const std::string what = "verbs: what is sent to another host is lost: ";
    Log(LogLevel::warn).warn(what + connected.error().message());
  }
}

}  // namespace gdakit::softnic::uverbs
