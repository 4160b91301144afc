#include "core/base/files.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/base/file_descriptor.h"

namespace gdakit {
namespace {

constexpr mode_t kMode = 0666;  // less the umask

Error cannot_write(const std::string& path, int error) {
  return Error::from_errno("cannot write \"" + path + "\"", error);
}

}  // namespace

Result<std::string> read_file(const std::string& path, const std::string& what) {
  const auto cannot_read = [&](int error) {
    const Error failed = Error::from_errno("cannot read " + what + " \"" + path + "\"", error);
    return error == ENOENT ? Error(Code::not_found, failed.message(), error) : failed;
  };
  const UniqueFileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return cannot_read(errno);
  std::string text;
  char buffer[1 << 14];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof(buffer));
    if (count == 0) return text;
    if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return cannot_read(errno);
  }
}

Result<void> write_file(const std::string& path, std::string_view text) {
  UniqueFileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (!file) return cannot_write(path, errno);
  while (!text.empty()) {
    const ssize_t count = ::write(file.get(), text.data(), text.size());
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return cannot_write(path, errno);
  }
  return {};
}

Result<void> replace_file(const std::string& path, const std::string& next_path,
                          std::string_view text) {
  if (const Result<void> written = write_file(next_path, text); !written) {
    ::unlink(next_path.c_str());
    return Error::from_errno("cannot write \"" + path + "\"", written.error().system_code());
  }
  if (::rename(next_path.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  ::unlink(next_path.c_str());
  return cannot_write(path, error);
}

Result<void> try_to_write(const std::string& path) {
  const WriteTrial trial(path);
  if (trial.is_special()) {
    const int error = trial.special_error();
    return error == 0 ? Result<void>() : cannot_write(path, error);
  }
  const UniqueFileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kMode));
  if (!file) return cannot_write(path, errno);
  trial.end();
  return {};
}

WriteTrial::WriteTrial(std::string path)
    : path_(std::move(path)), is_there_(::stat(path_.c_str(), &status_) == 0) {}

int WriteTrial::special_error() const {
  if (S_ISDIR(status_.st_mode)) return EISDIR;
  return ::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) == 0 ? 0 : errno;
}

void WriteTrial::end() const {
  if (is_there_) return;
  std::error_code error;
  const std::filesystem::path made = std::filesystem::canonical(path_, error);
  if (!error) ::unlink(made.c_str());
}

}  // namespace gdakit
