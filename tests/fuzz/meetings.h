// What those say who come to a job's bootstrap: strangers, PEs that went mad, and a hub that did.
#pragma once

#include "tests/fuzz/target.h"

namespace gdakit::fuzz {

// The payload and the header of a frame (core/host/bootstrap/tcp_wire.h).
std::string play_bootstrap_wire(Input input);
std::vector<Seed> bootstrap_wire_seeds();

// Calls of PEs that need not fit together (bootstrap_round.h). A round that is complete has an
// answer of the right length for every PE.
std::string play_bootstrap_round(Input input);
std::vector<Seed> bootstrap_round_seeds();

// Connections to a hub: bytes, handshakes good and bad, frames. Each connection that has ended on
// this side the hub ends too; what it says is what the protocol has; and the hub itself ends.
std::string play_bootstrap_hub(Input input);
std::vector<Seed> bootstrap_hub_seeds();

// A hub that says anything to PE 1 of 2, which joins and calls.
std::string play_bootstrap_member(Input input);
std::vector<Seed> bootstrap_member_seeds();

}  // namespace gdakit::fuzz
