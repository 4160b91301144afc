#include "tools/job_trace.h"

#include <algorithm>
#include <iostream>
#include <ostream>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/options.h"
#include "core/base/private_file.h"
#include "tools/file_output.h"
#include "tools/pe_list.h"
#include "tools/timeline.h"

namespace gdakit::tools {
namespace {

constexpr const char* kTimelines = "timelines";

// What is there stays as it is.
Result<void> try_to_write_private(const std::string& file) {
  struct stat before {};
  const bool is_new = ::stat(file.c_str(), &before) != 0;
  const Result<UniqueFileDescriptor> fd = open_private_file(file, kTimelines);
  if (!fd) return fd.error();
  if (is_new) ::unlink(file.c_str());
  return {};
}

}  // namespace

Result<void> write_timeline_file(const std::vector<TracePart>& parts, const std::string& file) {
  Result<UniqueFileDescriptor> fd = open_private_file(file, kTimelines);
  if (!fd) return fd.error();
  const Result<void> emptied = empty_file(fd->get(), file, kTimelines);
  if (!emptied) return emptied;
  FileOutput output(std::move(*fd));
  std::ostream stream(&output);
  const TimelineSummary summary = write_timeline(parts, stream);
  const int error = output.finish();
  if (error != 0) return private_file_error(file, kTimelines, error);
  if (summary.lost != 0) {
    std::cerr << "gdakit: " << file << " lacks " << summary.lost
              << " events, which came faster than they could be written; it says where\n";
  }
  return {};
}

Result<std::unique_ptr<JobTrace>> JobTrace::open(const std::string& file, int size) {
  if (const Result<void> possible = try_to_write_private(file); !possible) {
    return possible.error();
  }
  // What is wrong with the environment the PEs will say.
  const Result<ParsedOptions> parsed = parse_options(environment_variables());
  auto directory = JobDirectory::open(parsed ? parsed->options.trace : "", "trace");
  if (!directory) return directory.error();
  std::unique_ptr<JobTrace> trace(new JobTrace(file, size, std::move(*directory)));
  // Files that cannot be read now are none of theirs, or report() says what is wrong.
  auto earlier = find_trace_parts(trace->directory());
  if (earlier) trace->earlier_ = std::move(*earlier);
  return trace;
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
  std::cerr << "gdakit run: --trace: " << pes_that_have(missing)
            << " traced nothing: the program did not come as far as gdakit::init there\n";
}

Result<void> JobTrace::report() {
  Result<std::vector<TracePart>> parts = find_trace_parts(directory());
  if (!parts) return parts.error();
  std::erase_if(*parts, [this](const TracePart& part) { return is_earlier(part); });
  tell_missing(*parts);
  const Result<void> written = write_timeline_file(*parts, file_);
  if (written) return {};
  directory_.keep();
  return Error(written.error().code(),
               written.error().message() + ". What the PEs have written is in " + directory() +
                   ": `gdakit timeline " + directory() + " FILE` makes a timeline of it",
               written.error().system_code());
}

}  // namespace gdakit::tools
