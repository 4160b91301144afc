#include "backends/softnic/uverbs/mr_values.h"

#include <cerrno>
#include <rdma/ib_user_ioctl_verbs.h>

#include "backends/softnic/uverbs/qp_values.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::uint32_t kRemoteChanges =
    IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC;
// On-demand paging is not there. Huge pages are a hint, and where addresses of a region begin is
// said by its hca_va.
constexpr std::uint32_t kKnownAccess =
    IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |
    IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_MW_BIND | IB_UVERBS_ACCESS_ZERO_BASED |
    IB_UVERBS_ACCESS_HUGETLB | IB_UVERBS_ACCESS_OPTIONAL_RANGE;

}  // namespace

int check_access(std::uint32_t flags) {
  if ((flags & ~kKnownAccess) != 0) return EOPNOTSUPP;
  const bool local_write = (flags & IB_UVERBS_ACCESS_LOCAL_WRITE) != 0;
  return (flags & kRemoteChanges) != 0 && !local_write ? EINVAL : 0;
}

Access access_of(std::uint32_t flags) {
  Access access = Access::local_read | remote_access(flags);
  if ((flags & IB_UVERBS_ACCESS_LOCAL_WRITE) != 0) access = access | Access::local_write;
  if ((flags & IB_UVERBS_ACCESS_MW_BIND) != 0) access = access | Access::bind;
  return access;
}

}  // namespace gdakit::softnic::uverbs
