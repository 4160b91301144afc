#include "tools/job_counters.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <utility>

#include "core/base/files.h"
#include "core/base/options.h"
#include "tools/counters_reader.h"
#include "tools/counters_report.h"

namespace gdakit::tools {
namespace {

Result<std::string> make_own_directory() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) return Error::from_errno("there is no directory for temporary files", error.value());
  std::string path = parent / "gdakit-counters-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return Error::from_errno(path + " cannot be made", errno);
  return path;
}

// "PE 3 has", "PEs 1, 3 have".
std::string who_has(const std::vector<int>& pes) {
  std::string text = pes.size() == 1 ? "PE " : "PEs ";
  for (std::size_t i = 0; i < pes.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(pes[i]);
  return text + (pes.size() == 1 ? " has" : " have");
}

}  // namespace

JobCounters::JobCounters(std::string file, int size) : file_(std::move(file)), size_(size) {}

Result<std::unique_ptr<JobCounters>> JobCounters::open(const std::string& file, int size) {
  if (const Result<void> possible = try_to_write(file); !possible) return possible.error();
  std::unique_ptr<JobCounters> counters(new JobCounters(file, size));
  // What is wrong with the environment the PEs will say.
  const Result<ParsedOptions> parsed = parse_options(environment_variables());
  if (parsed) counters->directory_ = parsed->options.counters;
  if (!counters->directory_.empty()) {
    counters->note_earlier_jobs();
    return counters;
  }
  Result<std::string> own = make_own_directory();
  if (!own) return own.error();
  counters->directory_ = std::move(*own);
  counters->is_own_ = true;
  return counters;
}

JobCounters::~JobCounters() {
  std::error_code ignored;
  if (is_own_) std::filesystem::remove_all(directory_, ignored);
}

// What is wrong with the directory report() says.
void JobCounters::note_earlier_jobs() {
  const Result<CounterFiles> files = read_counter_files(directory_);
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
  Result<CounterFiles> files = read_counter_files(directory_);
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
    std::cerr << "gdakit run: --counters: " << who_has(missing)
              << " counted nothing: the program did not come as far as gdakit::init there\n";
  }
  return write_file(file_, counters_report(*pes, file_));
}

}  // namespace gdakit::tools
