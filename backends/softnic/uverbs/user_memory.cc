#include "backends/softnic/uverbs/user_memory.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::uint64_t kPage = 4096;

void* pointer_to(std::uint64_t address) { return reinterpret_cast<void*>(address); }

// Whether the system has refused the call itself, as some containers do: then bad memory ends the
// process, as it does in any program.
bool refused(ssize_t moved) { return moved < 0 && (errno == ENOSYS || errno == EPERM); }

}  // namespace

int read_user(void* to, std::uint64_t from, std::size_t size) {
  if (size == 0) return 0;
  const iovec local{to, size};
  const iovec remote{pointer_to(from), size};
  const ssize_t moved = ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0);
  if (refused(moved)) {
    std::memcpy(to, pointer_to(from), size);
    return 0;
  }
  return moved == static_cast<ssize_t>(size) ? 0 : EFAULT;
}

int write_user(std::uint64_t to, const void* from, std::size_t size) {
  if (size == 0) return 0;
  const iovec local{const_cast<void*>(from), size};
  const iovec remote{pointer_to(to), size};
  const ssize_t moved = ::process_vm_writev(::getpid(), &local, 1, &remote, 1, 0);
  if (refused(moved)) {
    std::memcpy(pointer_to(to), from, size);
    return 0;
  }
  return moved == static_cast<ssize_t>(size) ? 0 : EFAULT;
}

int check_mapped(std::uint64_t start, std::uint64_t length) {
  const std::uint64_t first = start & ~(kPage - 1);
  const std::uint64_t end = (start + length + kPage - 1) & ~(kPage - 1);
  if (end <= first) return EFAULT;
  return ::msync(pointer_to(first), end - first, MS_ASYNC) == 0 ? 0 : EFAULT;
}

}  // namespace gdakit::softnic::uverbs
