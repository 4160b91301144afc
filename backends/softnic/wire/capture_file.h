// A capture on its way to a file (pcapng.h), by a thread of its own.
//
//   auto file = CaptureFile::create("captures/pe0.pcapng", {.interface_name = "pe0"});
//   (*file)->add({.time_ns = now}, frame);   // the NIC's thread
//
//   NIC's thread --add()--> queue of bounded size --writer's thread--> file
//
// add() never waits. What the queue has no room for is dropped and counted: the next packet in the
// file says how many are missing before it, the statistics at the file's end say how many in all,
// and so does a warning. core/base/queued_file.h says when the file has what was added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/softnic/wire/pcapng.h"
#include "core/base/file_descriptor.h"
#include "core/base/log.h"
#include "core/base/queued_file.h"
#include "core/base/result.h"

namespace gdakit::softnic {

struct CaptureFileOptions {
  std::size_t queue_bytes = std::size_t{16} << 20;
  std::string application = "gdakit";
  std::string interface_name = {};
  Log log = {};
};

class CaptureFile {
 public:
  // A file that was there is overwritten; this user alone may read it, as it holds the job's data.
  // Errors: the folder is missing or may not be written to, the disk is full.
  static Result<std::unique_ptr<CaptureFile>> create(const std::string& path,
                                                     const CaptureFileOptions& options = {});
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  // Waits until all that is queued is written.
  ~CaptureFile();

  // These come from one thread at a time.
  //
  // Queues the packet, or drops it: then the result is false. `captured.interface` and
  // `captured.dropped` are the file's to fill in.
  bool add(pcapng::Captured captured, std::span<const std::uint8_t> frame);
  // Counts a packet that the file lacks.
  void drop();
  // Whether a frame of so many bytes would be dropped now: then it need not be made.
  bool is_full_for(std::size_t frame_bytes) const;
  std::uint64_t dropped() const { return dropped_; }

 private:
  CaptureFile(const std::string& path, UniqueFileDescriptor fd, const CaptureFileOptions& options);

  void write_statistics();

  QueuedFile file_;
  std::vector<std::uint8_t> block_;
  std::uint64_t added_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t untold_drops_ = 0;  // since the last packet that was added
};

}  // namespace gdakit::softnic
