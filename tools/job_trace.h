// `gdakit run --trace FILE`: the directory that the PEs write what happens to, and from it, at the
// job's end, one timeline.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "tools/job_directory.h"
#include "tools/trace_parts.h"

namespace gdakit::tools {

inline const std::atomic<bool> kNeverInterrupted = false;

// Makes a timeline (timeline.h) of parts. This user alone may read the file. What the timeline
// lacks is said on stderr, in lines that begin with `speaker`. Errors: the file cannot be written,
// or is another user's; a PE has two parts of one kind; `interrupted` has become true meanwhile,
// and then there is a part of the file.
Result<void> write_timeline_file(const std::vector<TracePart>& parts, const std::string& file,
                                 const std::string& speaker,
                                 const std::atomic<bool>& interrupted = kNeverInterrupted);

class JobTrace {
 public:
  // The directory is that of GDAKIT_TRACE, if it is set, or one for the job alone. Errors: `file`
  // cannot be written, or no directory can be made.
  static Result<std::unique_ptr<JobTrace>> open(const std::string& file, int size);

  const std::string& directory() const { return directory_.path(); }

  // Writes the file. Says on stderr which PEs have not written anything. An error if what a PE of
  // this job wrote cannot be read, or the file not be written, or if it is interrupted; the
  // directory stays then, and the error says so. Where a signal is to end the process (interrupt.h)
  // it does not stay.
  Result<void> report(const std::atomic<bool>& interrupted = kNeverInterrupted);

 private:
  JobTrace(std::string file, int size, JobDirectory directory)
      : file_(std::move(file)), size_(size), directory_(std::move(directory)) {}
  void note_earlier_jobs();
  bool is_earlier(const TracePart& part) const;
  Result<std::vector<TracePart>> find_parts() const;
  Result<void> make_timeline(const std::atomic<bool>& interrupted) const;
  void tell_missing(const std::vector<TracePart>& parts) const;

  std::string file_;
  int size_;
  JobDirectory directory_;
  // Parts that lay there before this job. A new one has another beginning.
  std::vector<TracePart> earlier_;
  std::set<std::string> unread_before_;  // the paths of those that could not be read even then
};

}  // namespace gdakit::tools
