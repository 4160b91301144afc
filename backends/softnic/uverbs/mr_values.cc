#include "backends/softnic/uverbs/mr_values.h"

#include <algorithm>
#include <cerrno>
#include <rdma/ib_user_ioctl_verbs.h>

#include "backends/softnic/dma/on_demand.h"
#include "backends/softnic/uverbs/client_memory.h"
#include "backends/softnic/uverbs/qp_values.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::uint32_t kRemoteChanges =
    IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC;
// Huge pages are a hint, and where addresses of a region begin is said by its hca_va.
constexpr std::uint32_t kKnownAccess =
    IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |
    IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_MW_BIND | IB_UVERBS_ACCESS_ZERO_BASED |
    IB_UVERBS_ACCESS_ON_DEMAND | IB_UVERBS_ACCESS_HUGETLB | IB_UVERBS_ACCESS_OPTIONAL_RANGE;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMost = ~std::uint64_t{0};

// Without pages made; the NIC finds out at each use what is there.
int place_on_demand(std::uint64_t start, std::uint64_t length, std::uint64_t iova,
                    MrAttributes& attributes) {
  const bool all = start == 0 && length == kMost;
  if (all && iova != 0) return EINVAL;
  if (all) length = kUserAddressEnd;
  if (start + length < start || start + length > kMost - kPage) return EOVERFLOW;
  // Beyond are no addresses of a process, and the bits that mark those of other kinds.
  if (start + length > kUserAddressEnd) return EFAULT;
  attributes.base = {start | kOnDemandBit};
  attributes.length = length;
  return 0;
}

}  // namespace

int check_access(std::uint32_t flags) {
  if ((flags & ~kKnownAccess) != 0) return EOPNOTSUPP;
  if ((flags & IB_UVERBS_ACCESS_ON_DEMAND) != 0 && !has_on_demand_memory()) return EOPNOTSUPP;
  const bool local_write = (flags & IB_UVERBS_ACCESS_LOCAL_WRITE) != 0;
  return (flags & kRemoteChanges) != 0 && !local_write ? EINVAL : 0;
}

Access access_of(std::uint32_t flags) {
  Access access = Access::local_read | remote_access(flags);
  if ((flags & IB_UVERBS_ACCESS_LOCAL_WRITE) != 0) access = access | Access::local_write;
  if ((flags & IB_UVERBS_ACCESS_MW_BIND) != 0) access = access | Access::bind;
  return access;
}

int place(Device& device, const RegionPlace& where, std::uint32_t flags, MrAttributes& attributes) {
  const auto [start, length, iova] = where;
  const bool has_no_page = length == 0 && (start & (kPage - 1)) == 0;
  if (has_no_page || (start & (kPage - 1)) != (iova & (kPage - 1))) return EINVAL;
  attributes.access = device.failures().no_dma ? Access{} : access_of(flags);
  attributes.start = iova;
  if ((flags & IB_UVERBS_ACCESS_ON_DEMAND) != 0) {
    return place_on_demand(start, length, iova, attributes);
  }
  attributes.length = length;
  const bool writable = (flags & IB_UVERBS_ACCESS_LOCAL_WRITE) != 0;
  return take_memory(device, start, std::max<std::uint64_t>(length, 1), writable, attributes.base);
}

}  // namespace gdakit::softnic::uverbs
