// Operations: what belongs together in a trace, in a few words. A kernel of ten lines makes
// hundreds of events; its calls, and what a NIC does for them, are a few dozen operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/choice/trace.h"

namespace gdakit::sim {

struct Operation {
  std::string what;                   // "put_nbi 8 bytes to PE 1", "fetches 2 WQEs"
  std::vector<std::uint32_t> events;  // ascending; of a call, the first is the call itself
  bool is_dull = false;               // gdakit's own housekeeping: looks, packets, CQEs
};

// In the order of their first events. An event is in one operation at most; what stands for itself
// is in none. A trace without anything of a user's has none: the protocol is what it is about.
std::vector<Operation> operations_of(const Trace& trace);

// The event at which to begin to read: the end of the first missing order, else the last stale
// read, else the last thing that a user's thread did.
std::uint32_t start_event(const Trace& trace);

}  // namespace gdakit::sim
