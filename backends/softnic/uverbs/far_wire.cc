#include "backends/softnic/uverbs/far_wire.h"

#include <utility>

namespace gdakit::softnic::uverbs {
namespace {

// Of the interface that has the address.
Result<std::uint32_t> find_mtu(const UdpSocket& socket) {
  const Result<std::uint32_t> longest = socket.longest_packet_to(socket.address());
  if (!longest) return longest.error();
  const std::uint32_t mtu = longest_roce_mtu(*longest);
  if (mtu != 0) return mtu;
  return Error(Code::unavailable, "the interface of " + socket.address().text() +
                                      " carries packets of " + std::to_string(*longest) +
                                      " bytes, too short for RoCE; raise its MTU");
}

}  // namespace

Result<std::unique_ptr<FarWire>> FarWire::open(const UdpAddress& address, Endpoint place,
                                               FarHosts& hosts) {
  const UdpAddress own{address.ip, static_cast<std::uint16_t>(address.port + place)};
  Result<UdpSocket> socket = UdpSocket::open(own);
  if (!socket) return socket.error();
  const Result<std::uint32_t> mtu = find_mtu(*socket);
  if (!mtu) return mtu.error();
  UdpOptions options;
  options.endpoint = place;
  options.mtu = *mtu;
  options.newcomer = [&hosts](const UdpAddress& from) { return hosts.sender(from); };
  Result<std::unique_ptr<UdpWire>> wire = UdpWire::create(std::move(*socket), options);
  if (!wire) return wire.error();
  return std::unique_ptr<FarWire>(new FarWire(std::move(*wire), hosts));
}

bool FarWire::send(const Packet& packet) {
  const Endpoint to = packet.header.destination;
  if (!connected_.contains(to)) {
    if (!udp_.connect(to, hosts_.address_of(to))) return true;
    connected_.insert(to);
  }
  return inner().send(packet);
}

}  // namespace gdakit::softnic::uverbs
