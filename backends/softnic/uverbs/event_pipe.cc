#include "backends/softnic/uverbs/event_pipe.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

namespace gdakit::softnic::uverbs {
namespace {

// Beyond the numbers that programs count on for files of their own.
constexpr int kFirstOwn = 512;

UniqueFileDescriptor move_up(UniqueFileDescriptor file) {
  const int moved = ::fcntl(file.get(), F_DUPFD_CLOEXEC, kFirstOwn);
  return moved < 0 ? std::move(file) : UniqueFileDescriptor(moved);
}

}  // namespace

Result<std::shared_ptr<EventPipe>> EventPipe::open(std::size_t record_bytes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno("EventPipe: pipe2", errno);
  UniqueFileDescriptor read(ends[0]), write(ends[1]);
  // Only of the write end: whether the client's blocks is the client's to say.
  if (::fcntl(write.get(), F_SETFL, O_NONBLOCK) != 0) {
    return Error::from_errno("EventPipe: O_NONBLOCK", errno);
  }
  return std::shared_ptr<EventPipe>(
      new EventPipe(record_bytes, move_up(std::move(read)), move_up(std::move(write))));
}

Result<int> EventPipe::client_end() const {
  const int file = ::fcntl(read_.get(), F_DUPFD_CLOEXEC, 0);
  if (file < 0) return Error::from_errno("EventPipe::client_end", errno);
  return file;
}

bool EventPipe::put(const void* record) const {
  return ::write(write_.get(), record, record_bytes_) == static_cast<ssize_t>(record_bytes_);
}

std::uint32_t EventPipe::withdraw(std::uint64_t element) const {
  std::uint32_t found = 0;
  std::vector<std::byte> others;
  std::vector<std::byte> record(record_bytes_);
  // Another descriptor of the same pipe that does not block, whatever the client's does.
  const std::string path = "/proc/self/fd/" + std::to_string(read_.get());
  const UniqueFileDescriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  while (::read(reader.get(), record.data(), record_bytes_) ==
         static_cast<ssize_t>(record_bytes_)) {
    std::uint64_t of = 0;
    std::memcpy(&of, record.data(), sizeof of);
    if (of == element) {
      ++found;
    } else {
      others.insert(others.end(), record.begin(), record.end());
    }
  }
  for (std::size_t at = 0; at < others.size(); at += record_bytes_) put(others.data() + at);
  return found;
}

}  // namespace gdakit::softnic::uverbs
