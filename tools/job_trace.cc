#include "tools/job_trace.h"

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <ostream>

#include "core/base/options.h"
#include "core/base/private_file.h"
#include "tools/file_output.h"
#include "tools/interrupt.h"
#include "tools/pe_list.h"
#include "tools/signals.h"
#include "tools/timeline.h"

namespace gdakit::tools {
namespace {

constexpr const char* kTimelines = "timelines";
constexpr const char* kSpeaker = "gdakit run: --trace: ";

Result<TimelineSummary> write_to(const std::vector<TracePart>& parts, const std::string& file,
                                 const std::atomic<bool>& interrupted) {
  Result<UniqueFileDescriptor> fd = open_private_file(file, kTimelines);
  if (!fd) return fd.error();
  const Result<void> emptied = empty_file(fd->get(), file, kTimelines);
  if (!emptied) return emptied.error();
  FileOutput output(std::move(*fd), interrupted);
  std::ostream stream(&output);
  const TimelineSummary summary = write_timeline(parts, stream);
  const int error = output.finish();
  if (error != 0) return private_file_error(file, kTimelines, error);
  return summary;
}

}  // namespace

Result<void> write_timeline_file(const std::vector<TracePart>& parts, const std::string& file,
                                 const std::string& speaker, const std::atomic<bool>& interrupted) {
  if (const Result<void> once = have_each_part_once(parts); !once) return once;
  const Result<TimelineSummary> written = write_to(parts, file, interrupted);
  if (!written && interrupted) {
    const int signal = end_request();
    const std::string by = signal == 0 ? "interrupted" : signal_text(signal);
    return Error(Code::system, file + " is not whole: " + by, EINTR);
  }
  if (!written) return written.error();
  if (written->lost != 0) {
    std::cerr << speaker << file << " lacks " << written->lost
              << " events, which came faster than they could be written; it says where\n";
  }
  if (written->cut_parts != 0) {
    std::cerr << speaker << file << " lacks events: " << written->cut_parts
              << " of the parts ended early, as the disk was full or failed; it says where\n";
  }
  return {};
}

Result<std::unique_ptr<JobTrace>> JobTrace::open(const std::string& file, int size) {
  if (const Result<void> possible = try_to_write_private(file, kTimelines); !possible) {
    return possible.error();
  }
  // What is wrong with the environment the PEs will say.
  const Result<ParsedOptions> parsed = parse_options(environment_variables());
  auto directory = JobDirectory::open(parsed ? parsed->options.trace : "", "trace");
  if (!directory) return directory.error();
  std::unique_ptr<JobTrace> trace(new JobTrace(file, size, std::move(*directory)));
  trace->note_earlier_jobs();
  return trace;
}

// What is wrong with the directory report() says.
void JobTrace::note_earlier_jobs() {
  Result<TraceParts> found = find_trace_parts(directory());
  if (!found) return;
  earlier_ = std::move(found->parts);
  for (const TraceParts::Unread& file : found->unread) {
    std::cerr << kSpeaker << "left out, of an earlier job: " << file.error.message() << '\n';
    unread_before_.insert(file.path);
  }
}

bool JobTrace::is_earlier(const TracePart& part) const {
  return std::ranges::any_of(earlier_, [&](const TracePart& earlier) {
    return earlier.path == part.path && earlier.header.steady_ns == part.header.steady_ns &&
           earlier.header.wall_ns == part.header.wall_ns;
  });
}

void JobTrace::tell_missing(const std::vector<TracePart>& parts) const {
  std::vector<int> missing;
  for (int rank = 0; rank < size_; ++rank) {
    const auto is_of_it = [rank](const TracePart& part) { return part.header.pe == rank; };
    if (std::ranges::none_of(parts, is_of_it)) missing.push_back(rank);
  }
  if (missing.empty()) return;
  std::cerr << kSpeaker << pes_that_have(missing)
            << " traced nothing: the program did not come as far as gdakit::init there\n";
}

// Of this job's PEs.
Result<std::vector<TracePart>> JobTrace::find_parts() const {
  Result<TraceParts> found = find_trace_parts(directory());
  if (!found) return found.error();
  for (const TraceParts::Unread& file : found->unread) {
    if (!unread_before_.contains(file.path)) return file.error;
  }
  std::erase_if(found->parts, [this](const TracePart& part) {
    return part.header.pe >= size_ || is_earlier(part);
  });
  return std::move(found->parts);
}

Result<void> JobTrace::make_timeline(const std::atomic<bool>& interrupted) const {
  const Result<std::vector<TracePart>> parts = find_parts();
  if (!parts) return parts.error();
  tell_missing(*parts);
  return write_timeline_file(*parts, file_, kSpeaker, interrupted);
}

Result<void> JobTrace::report(const std::atomic<bool>& interrupted) {
  const Result<void> made = make_timeline(interrupted);
  if (made || end_request() != 0) return made;
  directory_.keep();
  return Error(made.error().code(),
               made.error().message() + ". What the PEs have written is in " + directory() +
                   ": `gdakit timeline " + directory() + " FILE` makes a timeline of it",
               made.error().system_code());
}

}  // namespace gdakit::tools
