#include "backends/softnic/uverbs/xrc_domains.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <utility>

#include "backends/softnic/uverbs/own_files.h"
#include "core/base/file_descriptor.h"

namespace gdakit::softnic::uverbs {

int XrcDomains::hold_file(int fd, Domain& domain) const {
  const OpeningOwnFiles opening;
  UniqueFileDescriptor held(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  struct stat status {};
  if (!held || ::fstat(held.get(), &status) != 0) return errno;
  domain.device = status.st_dev;
  domain.inode = status.st_ino;
  domain.file = keep_file(std::move(held));
  return 0;
}

XrcDomains::Domain* XrcDomains::find(dev_t device, ino_t inode) {
  const auto at = std::find_if(domains_.begin(), domains_.end(), [&](const Domain& one) {
    return one.file && one.device == device && one.inode == inode;
  });
  return at == domains_.end() ? nullptr : &*at;
}

int XrcDomains::open(Nic& nic, int fd, std::uint32_t flags, XrcdNumber& number) {
  Domain wanted;
  if (fd != -1) {
    if (const int error = hold_file(fd, wanted)) return error;
  }
  const std::lock_guard lock(mutex_);
  Domain* const known = fd != -1 ? find(wanted.device, wanted.inode) : nullptr;
  if (known != nullptr) {
    if ((flags & O_EXCL) != 0) return EINVAL;
    ++known->users;
    number = known->number;
    return 0;
  }
  if (fd != -1 && (flags & O_CREAT) == 0) return EAGAIN;
  const Result<XrcdNumber> made = nic.alloc_xrcd();
  if (!made) return ENOMEM;
  wanted.number = number = *made;
  wanted.users = 1;
  domains_.push_back(std::move(wanted));
  return 0;
}

Result<void> XrcDomains::close(Nic& nic, XrcdNumber number) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(domains_.begin(), domains_.end(),
                               [number](const Domain& one) { return one.number == number; });
  if (at->users == 1) {
    const Result<void> ended = nic.dealloc_xrcd(number);
    if (!ended) return ended;
    domains_.erase(at);
    return {};
  }
  --at->users;
  return {};
}

}  // namespace gdakit::softnic::uverbs
