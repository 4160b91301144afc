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

// All files pe<rank>-host.trace and pe<rank>-nic.trace of a directory.
struct TraceParts {
  struct Unread {
    std::string path;
    Error error;  // names the path
  };
  std::vector<TracePart> parts;  // by PE, and of each PE the host's part first
  // They cannot be read, or are no parts of a trace, or of one that another version wrote.
  std::vector<Unread> unread;
};

// Files that are still empty are left out. Error: the directory cannot be read.
Result<TraceParts> find_trace_parts(const std::string& directory);

// Error: a PE has two parts of one kind, as of two jobs. `parts` are in the order of TraceParts.
Result<void> have_each_part_once(const std::vector<TracePart>& parts);

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
