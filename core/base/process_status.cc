#include "core/base/process_status.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/file_descriptor.h"

namespace gdakit {

bool process_runs(pid_t pid) {
  const UniqueFileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  // A kernel or a sandbox without that call: a zombie then counts as running.
  if (!process) return errno != ESRCH && (::kill(pid, 0) == 0 || errno != ESRCH);
  pollfd ended{process.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 0;
}

// "17 (a (strange) name) S 1 ...": the name ends at the last parenthesis; 19 words after the state
// comes the time of the start.
std::optional<ProcessStatus> process_status(pid_t pid) {
  constexpr int kWordsToStart = 19;
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const UniqueFileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::array<char, 1024> buffer{};
  const ssize_t size = ::read(file.get(), buffer.data(), buffer.size() - 1);
  if (size <= 0) return std::nullopt;
  const std::string_view line(buffer.data(), static_cast<std::size_t>(size));
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= line.size()) return std::nullopt;
  ProcessStatus status;
  std::size_t at = name_end + 2;
  status.state = line[at];
  for (int word = 0; word < kWordsToStart; ++word) {
    at = line.find(' ', at);
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
  }
  status.started = std::strtoull(line.data() + at, nullptr, 10);
  return status;
}

}  // namespace gdakit
