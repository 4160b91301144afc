// A capture on its way to a file (pcapng.h), by a thread of its own.
//
//   auto file = CaptureFile::create("captures/pe0.pcapng", {.interface_name = "pe0"});
//   (*file)->add({.time_ns = now}, frame);   // the NIC's thread
//
//   NIC's thread --add()--> queue of bounded size --writer's thread--> file
//
// add() never waits. What the queue has no room for is dropped and counted: the next packet in the
// file says how many are missing before it, the statistics at the file's end say how many in all,
// and so does a warning. All that is queued is in the file a tenth of a second later at most, in
// whole blocks, so that the file of a process that was killed can be read. When the disk is full,
// or fails, a warning says so, and the file ends with the last whole block that fitted.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backends/softnic/wire/capture_queue.h"
#include "backends/softnic/wire/pcapng.h"
#include "core/base/file_descriptor.h"
#include "core/base/log.h"
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
  CaptureFile(std::string path, UniqueFileDescriptor fd, std::size_t file_bytes,
              const CaptureFileOptions& options);

  void run();
  void write_queued();
  void write(const CaptureQueue::Blocks& blocks);
  void fail(int error, std::size_t whole_bytes);
  void write_statistics();

  const std::string path_;
  const UniqueFileDescriptor fd_;
  const Log log_;
  CaptureQueue queue_;
  // Of the thread that adds:
  std::vector<std::uint8_t> block_;
  std::uint64_t added_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t untold_drops_ = 0;  // since the last packet that was added
  // Of the writer's thread:
  std::size_t file_bytes_;  // whole blocks
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gdakit::softnic
