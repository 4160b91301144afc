#include "tests/verbs/verify/meeting.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <sys/socket.h>

namespace gdakit::verify {

void give_up(const char* format, ...) {
  va_list values;
  va_start(values, format);
  std::fputs("verbs_verify: ", stderr);
  std::vfprintf(stderr, format, values);
  std::fputc('\n', stderr);
  va_end(values);
  std::_Exit(1);
}

std::array<UniqueFileDescriptor, 2> Meeting::make_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    give_up("socketpair failed");
  }
  return {UniqueFileDescriptor(ends[0]), UniqueFileDescriptor(ends[1])};
}

void Meeting::swap_bytes(const void* out, void* in, std::size_t bytes) const {
  if (::send(socket_.get(), out, bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes) ||
      ::recv(socket_.get(), in, bytes, 0) != static_cast<ssize_t>(bytes)) {
    give_up("the other end is gone");
  }
}

}  // namespace gdakit::verify
