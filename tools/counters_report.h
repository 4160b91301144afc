// The counters of all PEs of a job in one file: for programs, for Prometheus, or for people.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/host/pe_counters.h"

namespace gdakit::tools {

// JSON if `path` ends in .json, Prometheus' text format if in .prom, else a table for people, who
// may call PEs otherwise.
std::string counters_report(std::span<const PeCounters> pes, std::string_view path,
                            std::string_view called = "PE");

// An object {"pes": [{"pe": 0, "nic": {...}, "queues": [{"qp": 3, "peer": 1, "queue": 0, ...}]}]}.
// What is not known is left out.
std::string counters_json(std::span<const PeCounters> pes);

// A line for each counter that is not 0, a column for each PE.
std::string counters_table(std::span<const PeCounters> pes, std::string_view called = "PE");

}  // namespace gdakit::tools
