// XRC domains as clients open them: one for each file of the file system, which stands for the
// domain, or one without. All open devices of the process share them.
//
//   ibv_open_xrcd(fd, O_CREAT)  -->  the inode's domain, made by the first one to open it
//
// Processes do not share them: each has a NIC of its own.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <sys/types.h>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "core/base/kept_file.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

class Device;

class XrcDomains {
 public:
  // The domain of the file that is open by `fd`; -1: one that nobody else opens. Of `flags` O_CREAT
  // and O_EXCL count, as for open(). 0, or an errno value: EBADF; EAGAIN, if there is none and it
  // is not to be made; EINVAL, if there is one and it is to be made.
  int open(Device& device, int fd, std::uint32_t flags, XrcdNumber& number);
  // The last one to close it ends it.
  Result<void> close(Device& device, XrcdNumber number);

 private:
  struct Domain {
    XrcdNumber number = 0;
    std::uint32_t users = 0;
    // Of the file, if it has one. While that is held, no other file gets its inode.
    dev_t device = 0;
    ino_t inode = 0;
    KeptFile file;
  };

  int hold_file(int fd, Domain& domain) const;
  Domain* find(dev_t device, ino_t inode);

  std::mutex mutex_;
  std::vector<Domain> domains_;
};

}  // namespace gdakit::softnic::uverbs
