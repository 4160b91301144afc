// What PEs have written for a timeline, as one file for Perfetto and chrome://tracing
// (timeline_events.h has the format):
//
//   PE 0
//     kernels               a span for each launch
//     block 0, block 1      spans of the emulator's blocks
//     queue 0 to PE 1       a span for each WQE, from where the NIC begins with it to its end;
//                           more rows where several are under way
//     NIC                   doorbells, fetches of WQEs, CQEs
//     wire                  packets sent and received
//
// An arrow goes from each WQE to the CQE by which the program learns of it. What a PE has not ended
// when its parts end, as a process that was killed, lasts to their last event, or sign of life, and
// says so, and whether a part ended early.
//
// Parts of one host have one clock. Those of other hosts are moved by the time of day at which each
// host's parts began, and are as exact as the hosts' clocks agree.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "tools/trace_parts.h"

namespace gdakit::tools {

struct TimelineSummary {
  std::uint64_t events = 0;     // of the format
  std::uint64_t lost = 0;       // by PEs
  std::uint64_t cut_parts = 0;  // which ended early, as their disk was full or failed
};

// Whether all could be written, the stream tells. One that fails is given up.
TimelineSummary write_timeline(const std::vector<TracePart>& parts, std::ostream& out);

}  // namespace gdakit::tools
