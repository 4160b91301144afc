#include "tools/stdin_relay.h"

#include <cerrno>
#include <fcntl.h>
#include <limits.h>
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

// Bytes that PE 0 has no room for yet stay in the terminal, which makes whoever types them wait.
std::optional<pollfd> StdinRelay::awaited() {
  if (!write_end_) return std::nullopt;
  pollfd room{write_end_.get(), POLLOUT, 0};
  if (::poll(&room, 1, 0) != 1) return room;
  if ((room.revents & POLLERR) != 0) {  // PE 0 reads no more
    write_end_.reset();
    return std::nullopt;
  }
  // Only a foreground process may read the terminal.
  if (::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return std::nullopt;
  return pollfd{STDIN_FILENO, POLLIN, 0};
}

void StdinRelay::progress(const pollfd& found) {
  if (found.fd != STDIN_FILENO || found.revents == 0) return;
  char buffer[PIPE_BUF];  // a pipe that has room takes so much as a whole
  const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof(buffer));
  if (count < 0 && errno == EINTR) return;
  if (count <= 0 || ::write(write_end_.get(), buffer, static_cast<std::size_t>(count)) < 0) {
    write_end_.reset();
  }
}

}  // namespace gdakit::tools
