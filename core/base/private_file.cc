#include "core/base/private_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/files.h"

namespace gdakit {
namespace {

// Devices, as /dev/null and terminals, are the system's.
Result<void> check_owner(const struct stat& status, const std::string& path,
                         const std::string& what) {
  if (S_ISCHR(status.st_mode) || status.st_uid == ::geteuid()) return {};
  return Error(Code::permission_denied,
               path +
                   " is another user's file, who would read all of it; remove it, or name "
                   "another folder for " +
                   what);
}

// From now on only the user reads it.
Result<void> take_over(int fd, const std::string& path, const std::string& what) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return private_file_error(path, what, errno);
  if (Result<void> owned = check_owner(status, path, what); !owned) return owned;
  if (!S_ISREG(status.st_mode)) return {};
  const bool is_private = (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  if (!is_private && ::fchmod(fd, S_IRUSR | S_IWUSR) != 0) {
    const int error = errno;
    return Error::from_errno(path +
                                 " cannot be made this user's alone; name a folder of a file "
                                 "system that keeps modes",
                             error);
  }
  return {};
}

}  // namespace

Error private_file_error(const std::string& path, const std::string& what, int error) {
  const auto because = [&](Code code, const std::string& remedy) {
    return Error(code, path + ": " + std::strerror(error) + "; " + remedy, error);
  };
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return because(Code::not_found, "create the folder, or name another one for " + what);
    case EISDIR: return because(Code::invalid_argument, "name a file in it");
    case EACCES:
    case EPERM:
    case EROFS:
      return because(Code::permission_denied, "name a folder that this user may write to");
    default: return because(Code::system, "name another folder for " + what);
  }
}

Result<UniqueFileDescriptor> open_private_file(const std::string& path, const std::string& what) {
  UniqueFileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return private_file_error(path, what, errno);
  if (Result<void> taken = take_over(fd.get(), path, what); !taken) return taken.error();
  return fd;
}

Result<void> try_to_write_private(const std::string& path, const std::string& what) {
  const WriteTrial trial(path);
  if (!trial.is_special()) {
    const Result<UniqueFileDescriptor> fd = open_private_file(path, what);
    trial.end();
    return fd ? Result<void>() : fd.error();
  }
  const int error = trial.special_error();
  return error == 0 ? check_owner(trial.status(), path, what)
                    : private_file_error(path, what, error);
}

Result<void> empty_file(int fd, const std::string& path, const std::string& what) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return private_file_error(path, what, errno);
  if (!S_ISREG(status.st_mode) || ::ftruncate(fd, 0) == 0) return {};
  return private_file_error(path, what, errno);
}

}  // namespace gdakit
