// The first 40 bytes of a datagram's receive buffer: the GRH, or what RoCE has in its place.
//
//   InfiniBand          | GRH, with both GIDs                          |
//   RoCE v2 over IPv6   | IPv6 header, whose addresses are the GIDs    |
//   RoCE v2 over IPv4   | 20 bytes of zeroes | IPv4 header             |
#pragma once

#include <array>
#include <cstdint>

#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/wire/packet.h"
#include "core/format/cqe.h"

namespace gdakit::softnic {

using Grh = std::array<std::uint8_t, format::kGrhBytes>;

// Of a datagram from one port to another. Over IPv4 if both have such addresses.
Grh make_grh(const PortAddress& from, const PortAddress& to, const PacketHeader& header);

// What the CQE says of it, but for the sender's QPN (flags_rqpn).
std::uint32_t grh_flags(const PortAddress& from, const PortAddress& to, const PacketHeader& header);

}  // namespace gdakit::softnic
