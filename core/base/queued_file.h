// A file that one thread adds blocks to without ever waiting for it, by a thread of its own.
//
//   one thread --push()--> queue of bounded size --writer's thread--> file
//
// What the queue has no room for is refused, and then the caller counts it. All that is queued is
// in the file a tenth of a second later at most, in whole blocks, so that the file of a process
// that was killed can be read. When the disk is full, or fails, a warning says so, and the file
// ends with the last whole block that fitted.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "core/base/block_queue.h"
#include "core/base/file_descriptor.h"
#include "core/base/kept_file.h"
#include "core/base/log.h"
#include "core/base/result.h"

namespace gdakit {

struct QueuedFileOptions {
  std::size_t queue_bytes = std::size_t{16} << 20;
  std::string kind;   // what warnings call it: "the capture"
  std::string block;  // what they call a block: "packet"
  // How many of the first `bytes` bytes of these blocks are whole ones.
  std::size_t (*whole)(const BlockQueue::Blocks& blocks, std::size_t bytes) = nullptr;
  // Marks the file as one that ends early, in bytes that it has. False: it takes no mark, as a
  // pipe. Null: nothing marks it.
  bool (*mark_early_end)(int fd) = nullptr;
  Log log = {};
};

class QueuedFile {
 public:
  // By then all that is queued is in the file.
  static constexpr std::chrono::milliseconds kMostBehind{100};

  // `fd` is the empty file of that path.
  QueuedFile(std::string path, UniqueFileDescriptor fd, QueuedFileOptions options);
  // Writes what comes first, and starts the thread. Error: the system's code, as of a full disk;
  // the file has failed then. A thread that the system does not give is thrown as
  // std::system_error.
  Result<void> begin(std::span<const std::uint8_t> header);
  // Waits until all that is queued is written.
  ~QueuedFile();
  QueuedFile(const QueuedFile&) = delete;
  QueuedFile& operator=(const QueuedFile&) = delete;

  const std::string& path() const { return path_; }
  const Log& log() const { return options_.log; }

  // From one thread at a time, after begin(). False: there is no room, or the file has failed.
  bool push(std::span<const std::uint8_t> block) { return !failed() && queue_.push(block); }
  // Whether a block of so many bytes would be refused now: then it need not be made.
  bool is_full_for(std::size_t bytes) const { return failed() || queue_.room() < bytes; }
  // It ends before what was pushed last.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  // Waits until all that is queued is written; nothing can be pushed any more.
  void finish();
  // A block behind all others, after finish().
  void append(std::span<const std::uint8_t> block);

 private:
  void run();
  void write_queued();
  void write(const BlockQueue::Blocks& blocks);
  void fail(int error, std::size_t whole_bytes);

  const std::string path_;
  const KeptFile fd_;
  const QueuedFileOptions options_;
  BlockQueue queue_;
  std::size_t file_bytes_ = 0;  // whole blocks; the writer's thread's
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gdakit
