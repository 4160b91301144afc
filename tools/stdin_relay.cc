#include "tools/stdin_relay.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace gdakit::tools {

Result<StdinRelay> StdinRelay::open() {
  StdinRelay relay;
  if (::isatty(STDIN_FILENO) == 0) return relay;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno("pipe for the stdin of PE 0", errno);
  relay.read_end_ = UniqueFileDescriptor(ends[0]);
  relay.write_end_ = UniqueFileDescriptor(ends[1]);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  return relay;
}

bool StdinRelay::wants_input() const {
  return write_end_ && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

void StdinRelay::relay() {
  char buffer[4096];
  const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof(buffer));
  if (count < 0 && errno == EINTR) return;
  // A PE that does not read loses what its pipe cannot hold; one that has ended ends the relay.
  if (count <= 0 ||
      (::write(write_end_.get(), buffer, static_cast<std::size_t>(count)) < 0 && errno != EAGAIN)) {
    write_end_.reset();
  }
}

}  // namespace gdakit::tools
