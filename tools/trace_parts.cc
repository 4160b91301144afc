#include "tools/trace_parts.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

namespace gdakit::tools {
namespace {

constexpr std::string_view kHostEnd = "-host.trace";
constexpr std::string_view kNicEnd = "-nic.trace";

bool ends_as(const std::string& name, std::string_view end) {
  constexpr std::string_view kBegin = "pe";
  if (!name.starts_with(kBegin) || !name.ends_with(end)) return false;
  const std::string rank = name.substr(kBegin.size(), name.size() - kBegin.size() - end.size());
  return !rank.empty() && rank.find_first_not_of("0123456789") == std::string::npos;
}

// "pe12-nic.trace": others may lie beside it.
bool is_part(const std::string& name) { return ends_as(name, kHostEnd) || ends_as(name, kNicEnd); }

Error cannot_read(const std::string& path, int error) {
  return Error(Code::system,
               path + " cannot be read: " + std::strerror(error) +
                   "; be the user whose job wrote it, or remove it",
               error);
}

// None: it is empty, as that of a PE that has just begun.
Result<std::optional<TracePart>> read_part(const std::string& path) {
  TracePart part{path, path.ends_with(kNicEnd), {}};
  std::ifstream file(path, std::ios::binary);
  if (!file) return cannot_read(path, errno);
  file.read(reinterpret_cast<char*>(&part.header), sizeof part.header);
  if (file.bad()) return cannot_read(path, errno);
  if (file.gcount() == 0) return std::optional<TracePart>();
  const bool whole = file.gcount() == sizeof part.header &&
                     part.header.magic == TraceHeader::kMagic &&
                     part.header.record_bytes == sizeof(TraceRecord) && part.header.pe >= 0 &&
                     part.header.pe <= 0xffff;
  if (whole) return std::optional(part);
  return Error(Code::invalid_argument,
               path + " is no trace of a PE, or one by another version of gdakit; remove it");
}

void add_file(TraceParts& all, const std::string& path) {
  Result<std::optional<TracePart>> part = read_part(path);
  if (!part) all.unread.push_back({path, part.error()});
  if (part && *part) all.parts.push_back(std::move(**part));
}

}  // namespace

Result<TraceParts> find_trace_parts(const std::string& directory) {
  std::error_code error;
  TraceParts all;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_part(entry->path().filename())) add_file(all, entry->path());
  }
  if (error) {
    return Error::from_errno("cannot read the directory \"" + directory + "\"", error.value());
  }
  std::ranges::sort(all.parts, {}, [](const TracePart& part) {
    return std::tuple(part.header.pe, part.is_nic, part.path);
  });
  return all;
}

Result<void> have_each_part_once(const std::vector<TracePart>& parts) {
  const auto twice =
      std::ranges::adjacent_find(parts, [](const TracePart& one, const TracePart& other) {
        return one.header.pe == other.header.pe && one.is_nic == other.is_nic;
      });
  if (twice == parts.end()) return {};
  return Error(Code::invalid_argument, twice->path + " and " + std::next(twice)->path +
                                           " are both of PE " + std::to_string(twice->header.pe) +
                                           "; remove the one that is of another job");
}

TraceReader::TraceReader(const TracePart& part) : file_(part.path, std::ios::binary) {
  file_.seekg(sizeof(TraceHeader));
}

std::optional<TraceRecord> TraceReader::next() {
  TraceRecord record;
  file_.read(reinterpret_cast<char*>(&record), sizeof record);
  if (file_.gcount() != sizeof record || record.kind >= TraceKind::count) return std::nullopt;
  return record;
}

}  // namespace gdakit::tools
