// What one PE takes of its node and of each of its NICs, for its queues.
#pragma once

#include <cstdint>

#include "tools/check/surroundings.h"

namespace gdakit::tools::check {

// Send queues of a PE, by all its NICs together.
std::uint64_t queues_of_a_pe(const Surroundings& surroundings);
// ... and on each NIC.
std::uint64_t queues_on_a_nic(const Surroundings& surroundings);

// Bytes that a NIC reads and writes of one of them.
std::uint64_t bytes_of_a_queue(const Options& options);

}  // namespace gdakit::tools::check
