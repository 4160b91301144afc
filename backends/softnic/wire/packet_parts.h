// The packets by value that one by reference stands for.
//
//   by reference    | PSN 7, 3 PSNs, write_only            payload of 10,000 bytes          |
//   its parts       | PSN 7, write_first, 4096 | PSN 8, write_middle, 4096 | PSN 9, write_last |
//
// The parts name their bytes by reference, too, and have one PSN each. What a message's last packet
// carries (immediate, solicited) and its request for an acknowledge stand in the last part; by
// value a NIC may ask for more acknowledges on the way.
#pragma once

#include <cstdint>

#include "backends/softnic/wire/packet.h"

namespace gdakit::softnic {

// How many parts the packet has, itself if it has one PSN. 0: its PSNs and payload do not fit
// together, which no NIC of gdakit's sends. A path's MTU need not be known: of the powers of two
// there is one at most by which the payload takes so many PSNs.
std::uint32_t part_count(const Packet& packet);

// The part of that index, below part_count(packet).
Packet part_of(const Packet& packet, std::uint32_t index);

}  // namespace gdakit::softnic
