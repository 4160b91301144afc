// Multicast groups of queue pairs.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <thread>
#include <utility>

#include "backends/softnic/uverbs/commands.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::uint16_t kFirstGroupLid = 0xc000;

// Detaching has the same struct.
int read_request(Context& context, const Attributes& call, Qp*& qp, Gid& group) {
  ib_uverbs_attach_mcast request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  qp = context.handles().find<Qp>(request.qp_handle);
  std::copy(std::begin(request.gid), std::end(request.gid), group.begin());
  if (qp == nullptr || qp->service != ServiceType::ud || !is_multicast(group)) return EINVAL;
  const bool has_lid = context.device().identity().link() == LinkLayer::infiniband;
  return has_lid && request.mlid < kFirstGroupLid ? EINVAL : 0;
}

}  // namespace

int attach_mcast(Context& context, Attributes& call) {
  Qp* qp = nullptr;
  Gid group{};
  if (const int error = read_request(context, call, qp, group)) return error;
  if (qp->groups.contains(group)) return 0;
  auto name = context.device().addresses().groups().join(group, qp->number);
  if (!name) return ENOMEM;
  qp->groups.emplace(group, std::move(*name));
  return 0;
}

int detach_mcast(Context& context, Attributes& call) {
  Qp* qp = nullptr;
  Gid group{};
  if (const int error = read_request(context, call, qp, group)) return error;
  if (qp->groups.erase(group) == 0) return EINVAL;
  // By then all senders know: what they send behind this call does not come any more.
  std::this_thread::sleep_for(std::chrono::nanoseconds(MulticastGroups::kDelayNs));
  return 0;
}

}  // namespace gdakit::softnic::uverbs
