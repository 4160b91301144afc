#include "tools/checked_output.h"

#include <cerrno>
#include <fcntl.h>
#include <iostream>
#include <poll.h>
#include <string_view>
#include <unistd.h>

namespace gdakit::tools {
namespace {

constexpr std::size_t kMostPending = std::size_t{1} << 16;

// 0, or the errno with which not all could be written.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready{descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

void hold_standard_descriptors() {
  // open() returns the lowest free number, which is `descriptor`: those below are taken.
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    const int mode = descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    if (::open("/dev/null", mode | O_CLOEXEC) != descriptor) return;
  }
}

CheckedOutput::CheckedOutput()
    : before_(std::cout.rdbuf(this)), by_lines_(::isatty(STDOUT_FILENO) != 0) {}

CheckedOutput::~CheckedOutput() {
  sync();
  std::cout.rdbuf(before_);
}

Result<void> CheckedOutput::finish() {
  sync();
  if (errno_ == 0) return {};
  return Error::from_errno("stdout cannot be written", errno_);
}

std::streamsize CheckedOutput::xsputn(const char* text, std::streamsize count) {
  const std::string_view added(text, static_cast<std::size_t>(count));
  pending_ += added;
  const bool line_ends = by_lines_ && added.find('\n') != added.npos;
  if ((line_ends || pending_.size() > kMostPending) && sync() != 0) return 0;
  return count;
}

CheckedOutput::int_type CheckedOutput::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) {
    return traits_type::not_eof(character);
  }
  const char c = traits_type::to_char_type(character);
  return xsputn(&c, 1) == 1 ? character : traits_type::eof();
}

// After an error nothing more is tried: what follows a gap is of no use.
int CheckedOutput::sync() {
  if (errno_ == 0) errno_ = write_all(STDOUT_FILENO, pending_);
  pending_.clear();
  return errno_ == 0 ? 0 : -1;
}

}  // namespace gdakit::tools
