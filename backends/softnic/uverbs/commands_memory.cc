// Protection domains, memory regions and pages of doorbell registers.
#include <cerrno>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <utility>

#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/firmware_call.h"
#include "backends/softnic/uverbs/mr_values.h"
#include "core/format/doorbell.h"
#include "core/format/prm/pd.h"

namespace gdakit::softnic::uverbs {
namespace {

// enum ibv_rereg_mr_flags, which the uapi does not have.
constexpr std::uint32_t kReregPlace = 1;
constexpr std::uint32_t kReregPd = 2;
constexpr std::uint32_t kReregAccess = 4;
constexpr std::uint32_t kReregFlags = kReregPlace | kReregPd | kReregAccess;

// Pages that are there when they are used need not be locked.
bool lock(Device& device, const RegionPlace& where, std::uint32_t access, LockedRange& to) {
  if ((access & IB_UVERBS_ACCESS_ON_DEMAND) != 0) return true;
  return device.locked().lock(where.start, where.length, to);
}

}  // namespace

int alloc_pd(Context& context, Attributes& call) {
  prm::Mailbox<prm::MboxIn> in;
  prm::Mailbox<prm::AllocPdOut> out;
  const Result<void> done = run_command(context, prm::Opcode::alloc_pd, in, out);
  if (!done) return errno_of(done);
  const auto number = static_cast<PdNumber>(out.get(prm::AllocPdOut::pd));
  auto pd = std::make_unique<Pd>();
  pd->number = number;
  const std::uint32_t handle = context.handles().add(std::move(pd));
  int error = call.write(UVERBS_ATTR_CORE_OUT, handle);
  if (error == 0) error = call.write(UVERBS_ATTR_UHW_OUT, mlx5_ib_alloc_pd_resp{number});
  return made<Pd>(context, handle, error);
}

int dealloc_pd(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(UVERBS_ATTR_DESTROY_PD_HANDLE, handle)) return error;
  return destroy<Pd>(context, handle);
}

int dealloc_pd_write(Context& context, Attributes& call) {
  ib_uverbs_dealloc_pd request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  return destroy<Pd>(context, request.pd_handle);
}

int reg_mr(Context& context, Attributes& call) {
  ib_uverbs_reg_mr request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  if (const int error = check_access(request.access_flags)) return error;
  Pd* const pd = context.handles().find<Pd>(request.pd_handle);
  if (pd == nullptr) return EINVAL;
  MrAttributes attributes;
  attributes.pd = pd->number;
  const RegionPlace where{request.start, request.length, request.hca_va};
  if (const int error = place(context.device(), where, request.access_flags, attributes))
    return error;
  auto mr = std::make_unique<Mr>();
  if (!lock(context.device(), where, request.access_flags, mr->locked)) return ENOMEM;
  const Result<MemoryKey> key = context.nic().reg_mr(attributes, context.uid());
  if (!key) return errno_of(key.error());
  mr->pd = Use<Pd>(pd);
  mr->key = *key;
  mr->attributes = attributes;
  mr->place = where;
  mr->access = request.access_flags;
  const std::uint32_t handle = context.handles().add(std::move(mr));
  const std::uint32_t answer[] = {handle, *key, *key};  // ib_uverbs_reg_mr_resp
  return made<Mr>(context, handle, call.write(UVERBS_ATTR_CORE_OUT, answer));
}

int rereg_mr(Context& context, Attributes& call) {
  ib_uverbs_rereg_mr request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  if (request.flags == 0) return EINVAL;
  if ((request.flags & ~kReregFlags) != 0) return EOPNOTSUPP;
  Mr* const mr = context.handles().find<Mr>(request.mr_handle);
  if (mr == nullptr || mr->dm.get() != nullptr) return EINVAL;
  MrAttributes attributes = mr->attributes;
  Pd* pd = mr->pd.get();
  if ((request.flags & kReregPd) != 0) {
    pd = context.handles().find<Pd>(request.pd_handle);
    if (pd == nullptr) return EINVAL;
    attributes.pd = pd->number;
  }
  std::uint32_t access = mr->access;
  RegionPlace where = mr->place;
  LockedRange locked;
  if ((request.flags & kReregAccess) != 0) {
    access = request.access_flags;
    if (const int error = check_access(access)) return error;
  }
  if ((request.flags & kReregPlace) != 0) {
    where = {request.start, request.length, request.hca_va};
  }
  if ((request.flags & (kReregAccess | kReregPlace)) != 0) {
    if (const int error = place(context.device(), where, access, attributes)) return error;
    if (!lock(context.device(), where, access, locked)) return ENOMEM;
  }
  const Result<void> changed = context.nic().rereg_mr(mr->key, attributes, context.uid());
  // After a time-out it is of the new attributes, too, but the old memory must stay.
  if (!is_gone(changed)) return errno_of(changed);
  mr->pd = Use<Pd>(pd);
  mr->attributes = attributes;
  if ((request.flags & (kReregAccess | kReregPlace)) != 0) mr->locked = std::move(locked);
  mr->place = where;
  mr->access = access;
  if (!changed) return EBUSY;
  const std::uint32_t answer[] = {mr->key, mr->key};  // ib_uverbs_rereg_mr_resp
  return call.write(UVERBS_ATTR_CORE_OUT, answer);
}

int query_mr(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(UVERBS_ATTR_QUERY_MR_HANDLE, handle)) return error;
  const Mr* const mr = context.handles().find<Mr>(handle);
  if (mr == nullptr) return ENOENT;
  int error = call.write(UVERBS_ATTR_QUERY_MR_RESP_LKEY, mr->key);
  if (error == 0) error = call.write(UVERBS_ATTR_QUERY_MR_RESP_RKEY, mr->key);
  if (error == 0) error = call.write(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, mr->place.length);
  if (error == 0) error = call.write(UVERBS_ATTR_QUERY_MR_RESP_IOVA, mr->attributes.start);
  return error;
}

int query_pd(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(MLX5_IB_ATTR_QUERY_PD_HANDLE, handle)) return error;
  const Pd* const pd = context.handles().find<Pd>(handle);
  return pd == nullptr ? ENOENT : call.write(MLX5_IB_ATTR_QUERY_PD_RESP_PDN, pd->number);
}

int dereg_mr(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(UVERBS_ATTR_DESTROY_MR_HANDLE, handle)) return error;
  return destroy<Mr>(context, handle);
}

int dereg_mr_write(Context& context, Attributes& call) {
  ib_uverbs_dereg_mr request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  return destroy<Mr>(context, request.mr_handle);
}

int alloc_uar(Context& context, Attributes& call) {
  std::uint64_t type = 0;
  if (const int error = call.read_known(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, type)) return error;
  if (type > MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC) return EINVAL;
  if (!call.has(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE)) return EINVAL;
  const NicFailures& failures = context.device().failures();
  const bool of_nc = type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC;
  if (of_nc ? failures.no_nc_page : failures.no_bf_page) return EOPNOTSUPP;
  if (failures.pages && context.handles().count(ObjectType::uar) >= *failures.pages) return ENOMEM;
  const Result<Uar> uar = context.nic().alloc_uar(UarType::registers, context.uid());
  if (!uar) return errno_of(uar.error());
  auto page = std::make_unique<UarPage>();
  page->number = uar->number;
  const MemoryPages& pages = context.device().pages();
  const std::uint64_t offset =
      failures.doorbells_lost ? MemoryPages::unwatched() : pages.offset_of(uar->page);
  const std::uint32_t length = format::kUarPageBytes;
  const std::uint32_t handle = context.handles().add(std::move(page));
  int error = call.write(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, offset);
  if (error == 0) error = call.write(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, length);
  if (error == 0) error = call.write(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, uar->number);
  if (error == 0) error = call.give_number(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, handle);
  return made<UarPage>(context, handle, error);
}

int free_uar(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, handle)) return error;
  const int error = destroy<UarPage>(context, handle);
  // Of a page that there is the NIC refuses only one that a queue still has.
  return error == EINVAL ? EBUSY : error;
}

}  // namespace gdakit::softnic::uverbs
