// What a peer of a NIC may send.
#pragma once

#include "tests/fuzz/target.h"

namespace gdakit::fuzz {

// A datagram, as it is and with a right ICRC. What decode() takes comes back from encode(), and
// what from_roce() makes of it keeps the contract of a wire (backends/softnic/wire/wire.h).
std::string play_roce_packet(Input input);
std::vector<Seed> roce_packet_seeds();

// Datagrams of a peer that is connected, and of one that is not, for an engine with a queue pair at
// work. The engine changes no memory but what is registered for that, sends nothing that is
// damaged, and comes to rest.
std::string play_udp_engine(Input input);
std::vector<Seed> udp_engine_seeds();

}  // namespace gdakit::fuzz
