// `gdakit explore` behind its command line.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/explore/scenario_list.h"

namespace gdakit::tools {

// As typed; what was not typed is empty.
struct ExploreArguments {
  std::string scenario;  // or "all"
  std::optional<std::uint64_t> schedules;
  std::optional<double> seconds;
  std::uint64_t seed = 1;
  std::string strategy = "mixed";
  std::optional<std::uint32_t> preemptions;
  std::string gpu = "hopper";
  std::string without;
  std::optional<std::string> replay;
  std::string html;
  std::string json;  // "-": standard output, and text goes to standard error
  bool list = false;
};

struct Streams {
  std::ostream* out;
  std::ostream* errors;
  std::size_t columns = 0;  // of the terminal that shows errors; 0: none, so no progress line
  const std::atomic<bool>* stop = nullptr;  // true: end with what has been found so far
};

// Explores, prints, and returns the exit status: 0, kFailed after a finding or if a file could not
// be written, else kInterrupted if it was stopped, kBadUsage.
int run_explore(const ExploreArguments& arguments, std::span<const sim::ScenarioEntry> scenarios,
                const Streams& streams);

// Names that `typed` may have meant, the nearest first, at most five.
std::vector<std::string> near_names(std::string_view typed,
                                    std::span<const sim::ScenarioEntry> scenarios);

}  // namespace gdakit::tools
