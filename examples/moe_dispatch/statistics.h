// What a PE counted, and the table that PE 0 prints of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/host/backend.h"
#include "examples/moe_dispatch/shape.h"

namespace moe {

// Trivially copyable: the PEs exchange it through the bootstrap.
struct PeStatistics {
  std::uint64_t tokens = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  gdakit::NicCounters nic;
  // Medians of all steps: from the launch until all messages, or the sums, are there.
  double dispatch_us = 0;
  double combine_us = 0;
  // Messages of the least and the most busy one of the PE's experts.
  std::uint64_t least_load = 0;
  std::uint64_t greatest_load = 0;
  bool correct = false;  // every output equals the reference
};

// "1 token", "2 tokens".
std::string counted(std::uint64_t count, const char* what);

// A row for each PE, a line on the load of the experts, and one on times and bytes. `all` is by PE.
void print_table(std::span<const PeStatistics> all, const Shape& shape);

}  // namespace moe
