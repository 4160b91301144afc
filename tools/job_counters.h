// `gdakit run --counters FILE`: the directory that the PEs write their counters to, and from it, at
// the job's end, one file with all of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/host/pe_counters.h"
#include "tools/job_directory.h"

namespace gdakit::tools {

class JobCounters {
 public:
  // The directory is that of GDAKIT_COUNTERS, if it is set, or one for the job alone, which goes
  // with this. Errors: `file` cannot be written, or no directory can be made.
  static Result<std::unique_ptr<JobCounters>> open(const std::string& file, int size);
  JobCounters(const JobCounters&) = delete;
  JobCounters& operator=(const JobCounters&) = delete;

  const std::string& directory() const { return directory_.path(); }

  // Writes the file. Says on stderr which PEs have not written any counters. An error if counters
  // of this job cannot be read.
  Result<void> report() const;

 private:
  JobCounters(std::string file, int size, JobDirectory directory);
  void note_earlier_jobs();
  Result<std::vector<PeCounters>> read() const;
  bool is_earlier(const PeCounters& pe) const;

  std::string file_;
  int size_;
  JobDirectory directory_;
  // Of PEs whose files lay there before this job, by rank. That tells those files from this job's:
  // times would not, as the wall clock may be set back.
  std::map<int, std::uint64_t> earlier_starts_ms_;
  std::set<std::string> unread_before_;  // the paths of those that could not be read even then
};

}  // namespace gdakit::tools
