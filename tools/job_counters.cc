#include "tools/job_counters.h"

#include <cerrno>
#include <chrono>
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

std::uint64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

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

JobCounters::JobCounters(std::string file, int size)
    : file_(std::move(file)), size_(size), begun_ms_(now_ms()) {}

Result<std::unique_ptr<JobCounters>> JobCounters::open(const std::string& file, int size) {
  if (const Result<void> possible = try_to_write(file); !possible) return possible.error();
  std::unique_ptr<JobCounters> counters(new JobCounters(file, size));
  // What is wrong with the environment the PEs will say.
  const Result<ParsedOptions> parsed = parse_options(environment_variables());
  if (parsed) counters->directory_ = parsed->options.counters;
  if (!counters->directory_.empty()) return counters;
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

Result<void> JobCounters::report() const {
  Result<std::vector<PeCounters>> pes = read_counters(directory_);
  if (!pes) return pes.error();
  // An earlier job's may lie there, too.
  std::erase_if(
      *pes, [this](const PeCounters& pe) { return pe.pe >= size_ || pe.started_ms < begun_ms_; });
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
