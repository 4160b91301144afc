// What the two ends of a connection tell each other, through the bootstrap.
#pragma once

#include <cstdint>
#include <string>

#include "backends/mlx5/open_nic.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit::mlx5 {

// What the peer's connect needs, in the byte order of the host.
struct ConnectionCard {
  static constexpr std::uint32_t kVersion = 1;
  std::uint32_t version = kVersion;
  std::uint32_t qpn = 0;
  std::uint32_t first_psn = 0;
  PortAddress address;
};
static_assert(sizeof(ConnectionCard) == 36);

// What initiators of DC need to know of the target of a PE.
struct DcCard {
  static constexpr std::uint32_t kVersion = 1;
  std::uint32_t version = kVersion;
  std::uint32_t dctn = 0;
  std::uint64_t key = 0;
  PortAddress address;  // its MTU is the target's
};
static_assert(sizeof(DcCard) == 40);

Bytes bytes_of(const ConnectionCard& card);
Bytes bytes_of(const DcCard& card);

// The card of a peer whose queue is to be connected with one of `nic`. Errors (invalid_argument):
// it is none that this version makes, names numbers out of range, or its port is of another kind
// than the NIC's.
Result<ConnectionCard> read_card(const Bytes& bytes, const OpenNic& nic);
// Likewise that of a peer's target of DC.
Result<DcCard> read_dc_card(const Bytes& bytes, const OpenNic& nic);

}  // namespace gdakit::mlx5
