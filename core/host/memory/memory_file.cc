#include "core/host/memory/memory_file.h"

#include <cerrno>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gdakit {

Result<UniqueFileDescriptor> make_memory_file(const char* name) {
  UniqueFileDescriptor file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return Error::from_errno("memfd_create (see ulimit -n)", errno);
  if (::fchmod(file.get(), S_IRUSR | S_IWUSR) != 0) return Error::from_errno("fchmod", errno);
  return file;
}

Result<void> resize_memory_file(const UniqueFileDescriptor& file, std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
    return Error(Code::exhausted, "shared memory of " + std::to_string(bytes) +
                                      " bytes is above this process's limit on the size of a "
                                      "file, " +
                                      std::to_string(limit.rlim_cur) +
                                      " bytes; raise it (ulimit -f)");
  }
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0) return {};
  return Error::from_errno("ftruncate of shared memory to " + std::to_string(bytes) + " bytes",
                           errno);
}

}  // namespace gdakit
