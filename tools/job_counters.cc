#include "tools/job_counters.h"

#include <iostream>
#include <utility>

#include "core/base/files.h"
#include "core/base/options.h"
#include "tools/counters_reader.h"
#include "tools/counters_report.h"
#include "tools/pe_list.h"

namespace gdakit::tools {

JobCounters::JobCounters(std::string file, int size, JobDirectory directory)
    : file_(std::move(file)), size_(size), directory_(std::move(directory)) {}

Result<std::unique_ptr<JobCounters>> JobCounters::open(const std::string& file, int size) {
  if (const Result<void> possible = try_to_write(file); !possible) return possible.error();
  // What is wrong with the environment the PEs will say.
  const Result<ParsedOptions> parsed = parse_options(environment_variables());
  auto directory = JobDirectory::open(parsed ? parsed->options.counters : "", "counters");
  if (!directory) return directory.error();
  std::unique_ptr<JobCounters> counters(new JobCounters(file, size, std::move(*directory)));
  if (!counters->directory_.is_own()) counters->note_earlier_jobs();
  return counters;
}

// What is wrong with the directory report() says.
void JobCounters::note_earlier_jobs() {
  const Result<CounterFiles> files = read_counter_files(directory());
  if (!files) return;
  for (const PeCounters& pe : files->pes) earlier_starts_ms_[pe.pe] = pe.started_ms;
  for (const CounterFiles::Unread& file : files->unread) {
    std::cerr << "gdakit run: --counters: left out, of an earlier job: " << file.error.message()
              << '\n';
    unread_before_.insert(file.path);
  }
}

// Of this job's PEs.
Result<std::vector<PeCounters>> JobCounters::read() const {
  Result<CounterFiles> files = read_counter_files(directory());
  if (!files) return files.error();
  for (const CounterFiles::Unread& file : files->unread) {
    if (!unread_before_.contains(file.path)) return file.error;
  }
  std::erase_if(files->pes,
                [this](const PeCounters& pe) { return pe.pe >= size_ || is_earlier(pe); });
  return std::move(files->pes);
}

bool JobCounters::is_earlier(const PeCounters& pe) const {
  const auto earlier = earlier_starts_ms_.find(pe.pe);
  return earlier != earlier_starts_ms_.end() && earlier->second == pe.started_ms;
}

Result<void> JobCounters::report() const {
  const Result<std::vector<PeCounters>> pes = read();
  if (!pes) return pes.error();
  std::vector<int> missing;
  for (int rank = 0, found = 0; rank < size_; ++rank) {
    const auto index = static_cast<std::size_t>(found);
    const bool is_there = index < pes->size() && (*pes)[index].pe == rank;
    if (is_there) ++found;
    if (!is_there) missing.push_back(rank);
  }
  if (!missing.empty()) {
    std::cerr << "gdakit run: --counters: " << pes_that_have(missing)
              << " counted nothing: the program did not come as far as gdakit::init there\n";
  }
  return write_file(file_, counters_report(*pes, file_));
}

}  // namespace gdakit::tools
