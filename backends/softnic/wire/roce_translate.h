// Between the transport's packets and those of RoCEv2.
//
// What the transport does not know yet (FLUSH, ATOMIC WRITE) is refused. Atomics of four bytes, and
// those with masks or boundaries, have no public form on the wire: they travel under an opcode that
// the specification leaves to manufacturers (Operation::compare_swap and fetch_add of
// Transport::own and own_xrc, and own_dc_* of Transport::own), which only gdakit's NICs understand.
#pragma once

#include <cstdint>

#include "backends/softnic/wire/packet.h"
#include "backends/softnic/wire/roce_packet.h"

namespace gdakit::softnic::roce {

// Whether packets of this service type can be translated.
constexpr bool has_transport(ServiceType service) { return service < ServiceType::count; }

// Without header.fragment_count: the payload is by value, and stays the packet's.
RocePacket to_roce(const Packet& packet);

// Why a RoCE packet without damage is none of the transport's.
enum class Unfit : std::uint8_t { none, opcode, syndrome, atomic, count };

// All that RoCE's headers hold: the way is what IP's say. The payload stays that of `from`.
Unfit from_roce(const RocePacket& from, Packet& to);

}  // namespace gdakit::softnic::roce
