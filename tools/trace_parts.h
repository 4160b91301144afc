// What PEs have written for a timeline (core/host/trace/trace_record.h), as it lies in a directory.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/host/trace/trace_record.h"

namespace gdakit::tools {

struct TracePart {
  std::string path;
  bool is_nic = false;  // or the host's
  TraceHeader header;
};

// All of a directory, by PE, and of each PE the host's part first. Files that are still empty are
// left out. Errors: the directory cannot be read; a file is no part of a trace, or of one that
// another version wrote.
Result<std::vector<TracePart>> find_trace_parts(const std::string& directory);

// The records of a part in their order, to the last whole one.
class TraceReader {
 public:
  explicit TraceReader(const TracePart& part);

  // None: the end, or something that is no record.
  std::optional<TraceRecord> next();

 private:
  std::ifstream file_;
};

}  // namespace gdakit::tools
