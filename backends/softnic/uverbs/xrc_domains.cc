#include "backends/softnic/uverbs/xrc_domains.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <utility>

#include "backends/softnic/uverbs/device.h"
#include "backends/softnic/uverbs/firmware_call.h"
#include "backends/softnic/uverbs/own_files.h"
#include "core/base/file_descriptor.h"
#include "core/format/prm/pd.h"

namespace gdakit::softnic::uverbs {
namespace {

// Domains are the kernel's: a file's is for all of its clients.
Result<XrcdNumber> make_domain(Device& device) {
  prm::Mailbox<prm::MboxIn> in;
  prm::Mailbox<prm::AllocXrcdOut> out;
  const Result<void> made = run_command(device, kNicUid, prm::Opcode::alloc_xrcd, in, out);
  if (!made) return made.error();
  return static_cast<XrcdNumber>(out.get(prm::AllocXrcdOut::xrcd));
}

}  // namespace

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

int XrcDomains::open(Device& device, int fd, std::uint32_t flags, XrcdNumber& number) {
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
  const Result<XrcdNumber> made = make_domain(device);
  if (!made) return errno_of(made.error());
  wanted.number = number = *made;
  wanted.users = 1;
  domains_.push_back(std::move(wanted));
  return 0;
}

Result<void> XrcDomains::close(Device& device, XrcdNumber number) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(domains_.begin(), domains_.end(),
                               [number](const Domain& one) { return one.number == number; });
  if (at->users == 1) {
    const Result<void> ended = run_command_of(device, kNicUid, prm::Opcode::dealloc_xrcd, number);
    if (!ended) return ended;
    domains_.erase(at);
    return {};
  }
  --at->users;
  return {};
}

}  // namespace gdakit::softnic::uverbs
