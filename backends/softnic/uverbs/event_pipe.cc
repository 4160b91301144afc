#include "backends/softnic/uverbs/event_pipe.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "core/base/log.h"

namespace gdakit::softnic::uverbs {

Result<std::shared_ptr<EventPipe>> EventPipe::open(std::size_t record_bytes, Reads reads) {
  const OpeningOwnFiles opening;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno("EventPipe: pipe2", errno);
  UniqueFileDescriptor client_end(ends[0]), write(ends[1]);
  // O_DIRECT: what is written at once is read by itself.
  const int flags = O_NONBLOCK | (reads == Reads::of_one ? O_DIRECT : 0);
  if (::fcntl(write.get(), F_SETFL, flags) != 0) {
    return Error::from_errno("EventPipe: O_NONBLOCK", errno);
  }
  // Read by record, each takes a page of its room: 256 of them, where the system allows it.
  constexpr int kRoom = 1 << 20;
  if (reads == Reads::of_one) static_cast<void>(::fcntl(write.get(), F_SETPIPE_SZ, kRoom));
  // Opened anew: a duplicate would block as the client's does.
  const std::string path = "/proc/self/fd/" + std::to_string(client_end.get());
  UniqueFileDescriptor read(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!read) return Error::from_errno("EventPipe: " + path, errno);
  return std::shared_ptr<EventPipe>(new EventPipe(record_bytes, std::move(client_end),
                                                  keep_file(std::move(read)),
                                                  keep_file(std::move(write))));
}

// The file is a number that a client gave. Another of its threads may be closing it, which is no
// race of this library: so the thread sanitizer, which knows fstat, does not see the call.
std::uint64_t EventPipe::identity_of(int file) {
  struct stat status {};
  return ::syscall(SYS_fstat, file, &status) == 0 && S_ISFIFO(status.st_mode) ? status.st_ino : 0;
}

bool EventPipe::put(const void* record, std::size_t bytes) const {
  if (::write(write_.get(), record, bytes) == static_cast<ssize_t>(bytes)) {
    ++put_;
    return true;
  }
  if (!told_full_.exchange(true)) {
    Log().warn("a program does not read its events: they are lost until it does");
  }
  return false;
}

std::uint64_t EventPipe::records_read() const {
  int unread = 0;
  if (::ioctl(read_.get(), FIONREAD, &unread) != 0) return put_;
  return put_ - static_cast<std::size_t>(unread) / record_bytes_;
}

std::uint32_t EventPipe::withdraw(std::uint64_t element) const {
  std::uint32_t found = 0;
  std::vector<std::byte> others;
  std::vector<std::byte> record(record_bytes_);
  while (::read(read_.get(), record.data(), record_bytes_) == static_cast<ssize_t>(record_bytes_)) {
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
