#include "core/base/queued_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

#include "core/base/library_thread.h"

namespace gdakit {
namespace {

// The queue holds what comes in between; the file is behind by no more than that and a write. What
// comes so fast that it fills much of the queue is written more often.
constexpr std::chrono::microseconds kMostBetweenWrites{20'000};
constexpr std::chrono::microseconds kLeastBetweenWrites{50};

struct Written {
  std::size_t bytes = 0;
  int error = 0;  // 0: all of them
};

// Both parts in one call, as long as the system takes all: a process that is killed leaves whole
// blocks.
Written write_all(int fd, const BlockQueue::Blocks& blocks) {
  Written written;
  while (written.bytes != blocks.size()) {
    const std::size_t of_first = std::min(written.bytes, blocks.first.size());
    const auto first = blocks.first.subspan(of_first);
    const auto second = blocks.second.subspan(written.bytes - of_first);
    // The system writes from the memory that a non-const pointer names, and changes nothing.
    const std::array<iovec, 2> parts = {
        iovec{const_cast<std::uint8_t*>(first.data()), first.size()},
        iovec{const_cast<std::uint8_t*>(second.data()), second.size()}};
    const ssize_t now = ::writev(fd, parts.data(), static_cast<int>(parts.size()));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) {
      written.error = now < 0 ? errno : EIO;
      break;
    }
    written.bytes += static_cast<std::size_t>(now);
  }
  return written;
}

}  // namespace

QueuedFile::QueuedFile(std::string path, UniqueFileDescriptor fd, QueuedFileOptions options)
    : path_(std::move(path)),
      fd_(keep_file(std::move(fd))),
      options_(std::move(options)),
      queue_(options_.queue_bytes) {}

Result<void> QueuedFile::begin(std::span<const std::uint8_t> header) {
  const Written written = write_all(fd_.get(), {header, {}});
  if (written.error != 0) {
    failed_.store(true, std::memory_order_relaxed);
    return Error::from_errno(path_, written.error);
  }
  file_bytes_ = header.size();
  thread_ = start_library_thread([this] { run(); });
  return {};
}

QueuedFile::~QueuedFile() { finish(); }

void QueuedFile::finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void QueuedFile::append(std::span<const std::uint8_t> block) {
  if (!failed()) write({block, {}});
}

void QueuedFile::run() {
  std::unique_lock lock(mutex_);
  auto pause = kMostBetweenWrites;
  bool last = false;
  while (!last) {
    last = changed_.wait_for(lock, pause, [this] { return stopping_; });
    lock.unlock();  // a disk may take long
    const std::size_t queued_bytes = queue_.peek().size();
    write_queued();
    pause = queued_bytes > options_.queue_bytes / 4 ? std::max(pause / 4, kLeastBetweenWrites)
                                                    : std::min(pause * 2, kMostBetweenWrites);
    lock.lock();
  }
}

void QueuedFile::write_queued() {
  for (auto blocks = queue_.peek(); blocks.size() != 0; blocks = queue_.peek()) {
    if (!failed()) write(blocks);
    queue_.pop(blocks.size());
  }
}

void QueuedFile::write(const BlockQueue::Blocks& blocks) {
  const Written written = write_all(fd_.get(), blocks);
  if (written.error != 0) return fail(written.error, options_.whole(blocks, written.bytes));
  file_bytes_ += written.bytes;
}

void QueuedFile::fail(int error, std::size_t whole_bytes) {
  failed_.store(true, std::memory_order_relaxed);
  file_bytes_ += whole_bytes;
  std::string text = options_.kind + ' ' + path_ + " ends here: " + std::strerror(error) +
                     "; the job goes on without it";
  // What is no regular file, as a pipe, keeps the piece of a block.
  if (::ftruncate(fd_.get(), static_cast<off_t>(file_bytes_)) != 0) {
    text += " (its last " + options_.block + " is cut off)";
  }
  if (options_.mark_early_end != nullptr && !options_.mark_early_end(fd_.get())) {
    text += " (which the file does not say)";
  }
  options_.log.warn(text);
}

}  // namespace gdakit
