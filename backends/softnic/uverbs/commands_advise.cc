// Pages of regions that are paged on demand, made before they are needed.
#include <cerrno>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <vector>

#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/user_memory.h"

namespace gdakit::softnic::uverbs {
namespace {

struct Advice {
  std::uint32_t pd = 0;
  std::uint64_t kind = 0;  // ib_uverbs_advise_mr_advice
  std::uint32_t flags = 0;
  std::vector<ib_uverbs_sge> ranges;
};

int read_advice(const Attributes& call, Advice& advice) {
  int error = call.number(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, advice.pd);
  if (error == 0 && !call.has(UVERBS_ATTR_ADVISE_MR_ADVICE)) error = EINVAL;
  if (error == 0) error = call.read_known(UVERBS_ATTR_ADVISE_MR_ADVICE, advice.kind);
  if (error == 0) {
    error = call.flags(UVERBS_ATTR_ADVISE_MR_FLAGS, IB_UVERBS_ADVISE_MR_FLAG_FLUSH, advice.flags);
  }
  if (error == 0) error = call.array(UVERBS_ATTR_ADVISE_MR_SGE_LIST, advice.ranges);
  if (error != 0) return error;
  return advice.kind > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT ? EOPNOTSUPP : 0;
}

// The region of this key, if pages of it may be made so.
int find_region(const Context& context, const Advice& advice, std::uint32_t key, const Mr*& found) {
  found = context.handles().find_if<Mr>([key](const Mr& mr) {
    return mr.key == key && (mr.access & IB_UVERBS_ACCESS_ON_DEMAND) != 0;
  });
  if (found == nullptr) return ENOENT;
  const bool writes = advice.kind == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
  const bool may_write = (found->access & IB_UVERBS_ACCESS_LOCAL_WRITE) != 0;
  return found->pd->handle() != advice.pd || (writes && !may_write) ? EPERM : 0;
}

int prefetch(const Mr& mr, const Advice& advice, const ib_uverbs_sge& range) {
  const std::uint64_t offset = range.addr - mr.place.iova;
  const std::uint64_t length = mr.attributes.length;
  if (range.addr < mr.place.iova || offset > length || range.length > length - offset) {
    return EFAULT;
  }
  const bool makes_none = advice.kind == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
  if (makes_none || range.length == 0) return 0;
  return pin(mr.place.start + offset, range.length,
             advice.kind == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE);
}

}  // namespace

// Also what need not be done when the call returns is; then what becomes of it is not told.
int advise_mr(Context& context, Attributes& call) {
  Advice advice;
  if (const int error = read_advice(call, advice)) return error;
  if (context.handles().find<Pd>(advice.pd) == nullptr) return ENOENT;
  const bool waits = (advice.flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH) != 0;
  std::vector<const Mr*> regions(advice.ranges.size());
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (const int error = find_region(context, advice, advice.ranges[i].lkey, regions[i])) {
      return error;
    }
  }
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const int error = prefetch(*regions[i], advice, advice.ranges[i]);
    if (waits && error != 0) return error;
  }
  return 0;
}

}  // namespace gdakit::softnic::uverbs
