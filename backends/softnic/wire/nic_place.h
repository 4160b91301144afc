// Where a NIC is to be reached, as users say it:
//
//   10.0.0.7    [fd00::7]:4792   an address of this host
//   eth0        eth0:4792        the first address of an interface, IPv4's before IPv6's
//   10.1.0.0/16 fd00::/8         this host's first address in a network
//   127.0.0.0/8                  NIC n has the n-th address after 127.0.0.1: a port 4791 each
//
// Without a port it is RoCEv2's, 4791, or one that is free where that is taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/softnic/wire/udp_address.h"
#include "backends/softnic/wire/udp_socket.h"
#include "core/base/result.h"

namespace gdakit::softnic {

struct NicPlace {
  UdpAddress address;
  bool has_port = false;  // the user has said it
};

// `nic` is the NIC's number within its job. Errors name what this host has.
Result<NicPlace> find_nic_place(std::string_view text, std::uint32_t nic);

// The interface that has the address; "lo" of an address that none has by itself, as 127.0.0.2.
std::string interface_of(const UdpAddress& address);
// The longest IP packet, in bytes, that an interface carries.
Result<std::uint32_t> longest_packet_of(const std::string& interface);

// As UdpSocket::open().
Result<UdpSocket> open_at(const NicPlace& place);
// As UdpSocket::open_shared().
Result<std::vector<UdpSocket>> open_shared_at(const NicPlace& place, std::uint32_t count);

}  // namespace gdakit::softnic
