#include "tools/exit_requests.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace gdakit::tools {

Result<ExitRequests> ExitRequests::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error::from_errno("pipe for requests of the PEs", errno);
  }
  return ExitRequests(UniqueFileDescriptor(ends[0]), UniqueFileDescriptor(ends[1]));
}

std::string ExitRequests::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(write_end_.get());
}

std::optional<ExitRequest> ExitRequests::take() const {
  char text[4096];
  const ssize_t count = ::read(read_end_.get(), text, sizeof(text));
  if (count <= 0) return std::nullopt;
  return parse_exit_request({text, static_cast<std::size_t>(count)});
}

}  // namespace gdakit::tools
