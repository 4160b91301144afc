// One file of a PE's events for a timeline (trace_record.h), which nobody waits for.
//
//   auto file = TraceFile::create("traces/pe0-nic.trace", 0, log);
//   (*file)->add(record);   // from one thread at a time
//
// What comes faster than the file is written is lost and counted: a record says how many are
// missing, in their place, and a warning how many in all. Where the disk is full the file ends, and
// its header says that it ends early.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/log.h"
#include "core/base/queued_file.h"
#include "core/base/result.h"
#include "core/host/trace/trace_record.h"

namespace gdakit {

class TraceFile {
 public:
  static constexpr std::size_t kQueueBytes = std::size_t{16} << 20;

  // `part`: "host" or "nic". The file is DIRECTORY/pe<rank>-<part>.trace; one that was there is
  // overwritten; this user alone may read it. Errors: as open_private_file(); the disk is full.
  static Result<std::unique_ptr<TraceFile>> create(const std::string& directory, int pe,
                                                   std::string_view part, Log log,
                                                   std::size_t queue_bytes = kQueueBytes);
  // Waits until all is written.
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Never waits.
  void add(const TraceRecord& record) {
    if (untold_ != 0 || !file_.push(bytes_of(record))) add_behind_loss(record);
  }
  std::uint64_t lost() const { return lost_; }

 private:
  TraceFile(const std::string& path, UniqueFileDescriptor fd, Log log, std::size_t queue_bytes);

  static std::span<const std::uint8_t> bytes_of(const TraceRecord& record) {
    return {reinterpret_cast<const std::uint8_t*>(&record), sizeof record};
  }
  void add_behind_loss(const TraceRecord& record);

  QueuedFile file_;
  std::uint64_t lost_ = 0;
  std::uint64_t untold_ = 0;  // of them, since the last record that was added
};

}  // namespace gdakit
