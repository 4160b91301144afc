#include "core/host/launch/exit_pipe.h"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file_descriptor.h"

namespace gdakit {
namespace {

// Takes a number and `after` it from the front of `text`.
std::optional<int> take_number(std::string_view& text, char after) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop == end || *stop != after) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
  return number;
}

}  // namespace

Result<void> send_exit_request(const std::string& path, ExitRequest request) {
  const std::string what = "GDAKIT_EXIT_PIPE: " + path;
  const UniqueFileDescriptor pipe(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!pipe) return Error::from_errno(what, errno);
  struct stat kind {};
  if (::fstat(pipe.get(), &kind) != 0 || !S_ISFIFO(kind.st_mode)) {
    return Error(Code::invalid_argument, what + " is no pipe");
  }
  // Whole or not at all, because it is shorter than PIPE_BUF.
  const std::string line =
      std::to_string(request.rank) + " " + std::to_string(request.status) + "\n";
  if (::write(pipe.get(), line.data(), line.size()) < 0) return Error::from_errno(what, errno);
  return {};
}

std::optional<ExitRequest> parse_exit_request(std::string_view text) {
  const std::optional<int> rank = take_number(text, ' ');
  const std::optional<int> status = take_number(text, '\n');
  if (!rank || !status || *rank < 0 || *status < 0 || *status > 255) return std::nullopt;
  return ExitRequest{*rank, *status};
}

}  // namespace gdakit
