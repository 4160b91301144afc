#include "backends/softnic/wire/capture_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

#include "core/base/library_thread.h"
#include "core/base/wall_clock.h"

namespace gdakit::softnic {
namespace {

// The queue holds what comes in between; the file is behind by no more than that and a write.
constexpr auto kBetweenWrites = std::chrono::milliseconds(20);

struct Written {
  std::size_t bytes = 0;
  int error = 0;  // 0: all of them
};

// Both parts in one call, as long as the system takes all: a process that is killed leaves whole
// blocks.
Written write_all(int fd, const CaptureQueue::Blocks& blocks) {
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

// How many of the first `bytes` bytes are whole blocks.
std::size_t whole_blocks(const CaptureQueue::Blocks& blocks, std::size_t bytes) {
  std::size_t at = 0;
  while (at != blocks.size()) {
    const std::size_t length_at = at + sizeof(std::uint32_t);
    const bool in_first = length_at < blocks.first.size();
    std::uint32_t length;
    std::memcpy(
        &length,
        in_first ? &blocks.first[length_at] : &blocks.second[length_at - blocks.first.size()],
        sizeof length);
    if (length > bytes - at) break;
    at += length;
  }
  return at;
}

Error open_error(const std::string& path, int error) {
  const auto because = [&](Code code, const char* why) {
    return Error(code, "CaptureFile::create: " + path + ": " + std::strerror(error) + "; " + why,
                 error);
  };
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return because(Code::not_found, "create the folder, or name another one for captures");
    case EACCES:
    case EPERM:
    case EROFS:
      return because(Code::permission_denied, "name a folder that this user may write to");
    default: return because(Code::system, "name another folder for captures");
  }
}

// Empties a file that was there before, which others may read: from now on only its user does.
// Pipes and devices are as they are.
Result<void> take_over(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return open_error(path, errno);
  if (!S_ISREG(status.st_mode)) return {};
  if (status.st_uid != ::geteuid()) {
    return Error(Code::permission_denied,
                 "CaptureFile::create: " + path +
                     " is another user's file, who would read all payload; remove it, or name "
                     "another folder for captures");
  }
  const bool is_private = (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  if (!is_private && ::fchmod(fd, S_IRUSR | S_IWUSR) != 0) {
    const int error = errno;
    return Error::from_errno("CaptureFile::create: " + path +
                                 " cannot be made this user's alone; name a folder of a file "
                                 "system that keeps modes",
                             error);
  }
  if (::ftruncate(fd, 0) != 0) return open_error(path, errno);
  return {};
}

}  // namespace

Result<std::unique_ptr<CaptureFile>> CaptureFile::create(const std::string& path,
                                                         const CaptureFileOptions& options) {
  UniqueFileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return open_error(path, errno);
  if (Result<void> taken = take_over(fd.get(), path); !taken) return taken.error();
  std::vector<std::uint8_t> header;
  pcapng::add_section(header, options.application);
  pcapng::add_interface(header, options.interface_name);
  const Written written = write_all(fd.get(), {header, {}});
  if (written.error != 0) return open_error(path, written.error);
  return std::unique_ptr<CaptureFile>(new CaptureFile(path, std::move(fd), header.size(), options));
}

CaptureFile::CaptureFile(std::string path, UniqueFileDescriptor fd, std::size_t file_bytes,
                         const CaptureFileOptions& options)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      log_(options.log),
      queue_(options.queue_bytes),
      file_bytes_(file_bytes) {
  thread_ = start_library_thread([this] { run(); });
}

CaptureFile::~CaptureFile() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
  write_statistics();
}

bool CaptureFile::add(pcapng::Captured captured, std::span<const std::uint8_t> frame) {
  captured.interface = 0;
  captured.dropped = untold_drops_;
  block_.clear();
  pcapng::add_packet(block_, captured, frame);
  if (failed_.load(std::memory_order_relaxed) || !queue_.push(block_)) {
    drop();
    return false;
  }
  ++added_;
  untold_drops_ = 0;
  return true;
}

void CaptureFile::drop() {
  ++dropped_;
  ++untold_drops_;
}

bool CaptureFile::is_full_for(std::size_t frame_bytes) const {
  return failed_.load(std::memory_order_relaxed) || queue_.room() < frame_bytes;
}

void CaptureFile::run() {
  std::unique_lock lock(mutex_);
  bool last = false;
  while (!last) {
    last = changed_.wait_for(lock, kBetweenWrites, [this] { return stopping_; });
    lock.unlock();  // a disk may take long
    write_queued();
    lock.lock();
  }
}

void CaptureFile::write_queued() {
  for (auto blocks = queue_.peek(); blocks.size() != 0; blocks = queue_.peek()) {
    if (!failed_.load(std::memory_order_relaxed)) write(blocks);
    queue_.pop(blocks.size());
  }
}

void CaptureFile::write(const CaptureQueue::Blocks& blocks) {
  const Written written = write_all(fd_.get(), blocks);
  if (written.error != 0) return fail(written.error, whole_blocks(blocks, written.bytes));
  file_bytes_ += written.bytes;
}

void CaptureFile::fail(int error, std::size_t whole_bytes) {
  failed_.store(true, std::memory_order_relaxed);
  file_bytes_ += whole_bytes;
  std::string text = "the capture " + path_ + " ends here: " + std::strerror(error) +
                     "; the job goes on without it";
  // What is no regular file, as a pipe, keeps the piece of a block.
  if (::ftruncate(fd_.get(), static_cast<off_t>(file_bytes_)) != 0) {
    text += " (its last packet is cut off)";
  }
  log_.warn(text);
}

// The writer's thread has ended.
void CaptureFile::write_statistics() {
  if (failed_.load(std::memory_order_relaxed)) return;
  const std::uint64_t packets = added_ + dropped_;
  std::vector<std::uint8_t> block;
  pcapng::add_statistics(block, {.time_ns = wall_ns(), .received = packets, .dropped = dropped_});
  write({block, {}});
  if (dropped_ == 0) return;
  log_.warn("the capture " + path_ + " lacks " + std::to_string(dropped_) + " of " +
            std::to_string(packets) +
            " packets: they came faster than the file was written, which a faster disk or memory "
            "helps against, or have no form in RoCEv2");
}

}  // namespace gdakit::softnic
