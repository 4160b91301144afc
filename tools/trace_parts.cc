#include "tools/trace_parts.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <tuple>

namespace gdakit::tools {
namespace {

constexpr std::string_view kHostEnd = "-host.trace";
constexpr std::string_view kNicEnd = "-nic.trace";

bool is_part(const std::string& name) {
  return name.starts_with("pe") && (name.ends_with(kHostEnd) || name.ends_with(kNicEnd));
}

// None: it is empty, as that of a PE that has just begun.
Result<std::optional<TracePart>> read_part(const std::string& path) {
  TracePart part{path, path.ends_with(kNicEnd), {}};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error(Code::system, "cannot read \"" + path + "\"");
  file.read(reinterpret_cast<char*>(&part.header), sizeof part.header);
  if (file.gcount() == 0) return std::optional<TracePart>();
  const bool whole = file.gcount() == sizeof part.header &&
                     part.header.magic == TraceHeader::kMagic &&
                     part.header.record_bytes == sizeof(TraceRecord) && part.header.pe >= 0 &&
                     part.header.pe <= 0xffff;
  if (whole) return std::optional(part);
  return Error(Code::invalid_argument,
               path + " is no trace of a PE, or one by another version of gdakit; remove it");
}

}  // namespace

Result<std::vector<TracePart>> find_trace_parts(const std::string& directory) {
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  if (error) return Error::from_errno("cannot read \"" + directory + "\"", error.value());
  std::vector<TracePart> parts;
  for (const auto& entry : entries) {
    if (!is_part(entry.path().filename())) continue;
    Result<std::optional<TracePart>> part = read_part(entry.path());
    if (!part) return part.error();
    if (*part) parts.push_back(std::move(**part));
  }
  std::ranges::sort(parts, {}, [](const TracePart& part) {
    return std::tuple(part.header.pe, part.is_nic, part.path);
  });
  return parts;
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
