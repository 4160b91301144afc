#include "backends/softnic/uverbs/user_memory.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

namespace gdakit::softnic::uverbs {
namespace {

// MADV_POPULATE_READ and MADV_POPULATE_WRITE, which older headers lack.
constexpr int kPopulateRead = 22;
constexpr int kPopulateWrite = 23;

constexpr std::uint64_t kPage = 4096;

// Of the machine.
std::uint64_t memory_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void* pointer_to(std::uint64_t address) { return reinterpret_cast<void*>(address); }

// Whether the system has refused the call itself, as some containers do: then bad memory ends the
// process, as it does in any program.
bool refused(ssize_t moved) { return moved < 0 && (errno == ENOSYS || errno == EPERM); }

// A line of the system's list of what this process has mapped:
//   7f00a000-7f00c000 rw-p 00000000 00:01 1042 /memfd:name
struct Mapping {
  std::uint64_t begin = 0, end = 0;
  char rights[5] = {};
  std::uint64_t inode = 0;  // 0: of no file
};

// Whether mappings cover all of [begin, end), and each is such.
template <class IsSuch>
bool covered(std::uint64_t begin, std::uint64_t end, const IsSuch& is_such) {
  std::ifstream maps("/proc/self/maps");  // in order
  for (std::string line; begin < end && std::getline(maps, line);) {
    Mapping one;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64, &one.begin,
                    &one.end, one.rights, &one.inode) != 4) {
      break;
    }
    if (one.end <= begin) continue;
    if (one.begin > begin || !is_such(one)) return false;
    begin = one.end;
  }
  return begin >= end;
}

bool may_touch(std::uint64_t begin, std::uint64_t end, bool writable) {
  return covered(begin, end, [writable](const Mapping& one) {
    return one.rights[0] == 'r' && (!writable || one.rights[1] == 'w');
  });
}

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

int pin(std::uint64_t start, std::uint64_t length, bool writable) {
  const std::uint64_t first = start & ~(kPage - 1);
  const std::uint64_t end = (start + length + kPage - 1) & ~(kPage - 1);
  if (end <= first) return EFAULT;
  if (length > memory_bytes()) return may_touch(first, end, writable) ? ENOMEM : EFAULT;
  const int advice = writable ? kPopulateWrite : kPopulateRead;
  if (::madvise(pointer_to(first), end - first, advice) == 0) return 0;
  if (errno != EINVAL) return EFAULT;
  // Not allowed, or a device's memory, or Linux before 5.14: the system's list tells.
  return may_touch(first, end, writable) ? 0 : EFAULT;
}

std::optional<std::uint64_t> mapped_file(std::uint64_t begin, std::uint64_t end) {
  std::uint64_t inode = 0;
  const bool all = covered(begin, end, [&inode](const Mapping& one) {
    const bool same = inode == 0 || inode == one.inode;
    inode = one.inode;
    return same && one.inode != 0;
  });
  return all && inode != 0 ? std::optional(inode) : std::nullopt;
}

}  // namespace gdakit::softnic::uverbs
