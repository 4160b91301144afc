#include "tools/output.h"

#include <algorithm>
#include <cerrno>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

namespace gdakit::tools {

void LineSplitter::feed(std::string_view data, std::string& out) {
  if (at_once_) {
    out += data;
    return;
  }
  while (!data.empty()) {
    const std::size_t line_break = data.find('\n');
    const std::size_t room = kMaxLineBytes - line_.size();
    const std::size_t count = std::min({line_break, data.size(), room});
    line_ += data.substr(0, count);
    data.remove_prefix(count);
    const bool ended = count == line_break;
    if (ended) data.remove_prefix(1);
    if (ended || line_.size() == kMaxLineBytes) pass_on(ended, out);
  }
}

void LineSplitter::finish(std::string& out) {
  if (!line_.empty()) pass_on(false, out);
}

void LineSplitter::pass_on(bool ended, std::string& out) {
  out += prefix_ + line_;
  if (ended || !prefix_.empty()) out += '\n';
  line_.clear();
}

Result<void> Sink::flush() {
  std::size_t written = 0;
  while (written < pending_.size()) {
    // The descriptor may be shared with other processes, so it must not be made non-blocking; but a
    // pipe that poll() calls writable takes PIPE_BUF bytes without waiting.
    pollfd ready{descriptor_, POLLOUT, 0};
    if (::poll(&ready, 1, 0) != 1) break;
    const std::size_t count = std::min<std::size_t>(PIPE_BUF, pending_.size() - written);
    const ssize_t done = ::write(descriptor_, pending_.data() + written, count);
    if (done < 0 && errno != EINTR && errno != EAGAIN) {
      const int error = errno;
      pending_.clear();
      return Error::from_errno(name_ + " cannot be written", error);
    }
    if (done > 0) written += static_cast<std::size_t>(done);
  }
  pending_.erase(0, written);
  return {};
}

}  // namespace gdakit::tools
