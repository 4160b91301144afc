// The other way round than pe_counters.h: what the PEs of a job have written for Prometheus, as
// numbers again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/host/pe_counters.h"

namespace gdakit::tools {

// The PEs of a text, by their numbers. Metrics that this version does not know are left out. An
// error names the line; `name` is what it calls the text.
Result<std::vector<PeCounters>> parse_counters(std::string_view text, const std::string& name);

// All files pe<rank>.prom of a directory.
struct CounterFiles {
  struct Unread {
    std::string path;
    Error error;  // names the path
  };
  std::vector<PeCounters> pes;  // by their numbers; none, if there is no file yet
  std::vector<Unread> unread;
};
Result<CounterFiles> read_counter_files(const std::string& directory);

// The PEs of all files; an error if one of these cannot be read.
Result<std::vector<PeCounters>> read_counters(const std::string& directory);

}  // namespace gdakit::tools
