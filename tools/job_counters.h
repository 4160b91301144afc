// `gdakit run --counters FILE`: the directory that the PEs write their counters to, and from it, at
// the job's end, one file with all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace gdakit::tools {

class JobCounters {
 public:
  // The directory is that of GDAKIT_COUNTERS, if it is set, or one for the job alone, which goes
  // with this. Errors: `file` cannot be written, or no directory can be made.
  static Result<std::unique_ptr<JobCounters>> open(const std::string& file, int size);
  ~JobCounters();
  JobCounters(const JobCounters&) = delete;
  JobCounters& operator=(const JobCounters&) = delete;

  const std::string& directory() const { return directory_; }

  // Writes the file. Says on stderr which PEs have not written any counters.
  Result<void> report() const;

 private:
  JobCounters(std::string file, int size);

  std::string file_;
  int size_;
  std::string directory_;
  bool is_own_ = false;
  std::uint64_t begun_ms_;
};

}  // namespace gdakit::tools
