// Listening sockets: the one that a launcher hands to PE 0, or the one that PE 0 opens itself.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace gdakit {

// A socket that listens on `host` and `port`; without a host on all addresses of this one; port 0
// lets the system choose one. Closed on exec.
Result<UniqueFileDescriptor> open_listener(const std::string& host, std::uint16_t port);

// A duplicate of the listening TCP socket `descriptor` that this process inherited. The original
// stays open, so that a later job of the same processes can use it again; both are closed on exec.
Result<UniqueFileDescriptor> adopt_listener(int descriptor);

// Where a socket listens, as others on this host reach it: one that listens on every address, by
// the loopback of IPv4, which is there where that of IPv6 has been switched off.
struct ListenerAddress {
  std::string host;
  std::uint16_t port = 0;
  int family = 0;  // of the socket: AF_INET or AF_INET6
};
Result<ListenerAddress> listener_address(int descriptor);

}  // namespace gdakit
