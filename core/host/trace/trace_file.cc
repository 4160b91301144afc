#include "core/host/trace/trace_file.h"

#include <algorithm>
#include <cstddef>
#include <unistd.h>
#include <utility>

#include "core/base/files.h"
#include "core/base/private_file.h"
#include "core/base/wait_clock.h"
#include "core/base/wall_clock.h"

namespace gdakit {
namespace {

constexpr const char* kTraces = "traces";

std::size_t whole_records(const BlockQueue::Blocks&, std::size_t bytes) {
  return bytes - bytes % sizeof(TraceRecord);
}

bool mark_early_end(int fd) {
  constexpr std::uint32_t kMark = 1;
  return ::pwrite(fd, &kMark, sizeof kMark, offsetof(TraceHeader, ends_early)) == sizeof kMark;
}

TraceHeader header_of(int pe) {
  TraceHeader header;
  header.pe = pe;
  header.steady_ns = steady_ns();
  header.wall_ns = wall_ns();
  // Without it the host counts as one of its own only if others have it.
  const Result<std::string> boot = read_file("/proc/sys/kernel/random/boot_id", "the boot_id");
  if (boot) boot->copy(header.boot.data(), std::min(boot->find('\n'), header.boot.size() - 1));
  return header;
}

}  // namespace

Result<std::unique_ptr<TraceFile>> TraceFile::create(const std::string& directory, int pe,
                                                     std::string_view part, Log log,
                                                     std::size_t queue_bytes) {
  const std::string path =
      directory + "/pe" + std::to_string(pe) + '-' + std::string(part) + ".trace";
  Result<UniqueFileDescriptor> fd = open_private_file(path, kTraces);
  if (!fd) return fd.error();
  if (Result<void> emptied = empty_file(fd->get(), path, kTraces); !emptied) {
    return emptied.error();
  }
  std::unique_ptr<TraceFile> file(new TraceFile(path, std::move(*fd), log, queue_bytes));
  const TraceHeader header = header_of(pe);
  const Result<void> begun =
      file->file_.begin({reinterpret_cast<const std::uint8_t*>(&header), sizeof header});
  if (!begun) return private_file_error(path, kTraces, begun.error().system_code());
  return file;
}

TraceFile::TraceFile(const std::string& path, UniqueFileDescriptor fd, Log log,
                     std::size_t queue_bytes)
    : file_(path, std::move(fd),
            {.queue_bytes = queue_bytes,
             .kind = "the trace",
             .block = "event",
             .whole = whole_records,
             .mark_early_end = mark_early_end,
             .log = log}) {}

TraceFile::~TraceFile() {
  file_.finish();
  if (file_.failed() || lost_ == 0) return;
  TraceRecord missing;
  missing.time_ns = steady_ns();
  missing.value = untold_;
  if (untold_ != 0) file_.append(bytes_of(missing));
  file_.log().warn("the trace " + file_.path() + " lacks " + std::to_string(lost_) +
                   " events, which came faster than the file was written: trace fewer of them, or "
                   "write to memory or a faster disk");
}

// There was no room, or some records before this one have not been told to be missing.
void TraceFile::add_behind_loss(const TraceRecord& record) {
  if (untold_ != 0 && !file_.is_full_for(2 * sizeof record)) {
    TraceRecord missing;
    missing.time_ns = record.time_ns;
    missing.value = untold_;
    if (file_.push(bytes_of(missing))) untold_ = 0;
    if (untold_ == 0 && file_.push(bytes_of(record))) return;
  }
  ++lost_;
  ++untold_;
}

}  // namespace gdakit
