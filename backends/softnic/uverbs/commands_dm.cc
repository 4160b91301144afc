// Memory of the device: pieces of it, and regions of those.
#include <cerrno>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/mr_values.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::uint32_t kMostLogAlignment = 12;  // each piece begins with a page
constexpr std::uint32_t kAllowedAccess =
    IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |
    IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_ZERO_BASED;

constexpr std::uint64_t kStartOffset = 0;  // of each piece in its first page

struct DmRequest {
  std::uint64_t length = 0;
  std::uint32_t log_alignment = 0;
};

int read_request(const Attributes& call, DmRequest& request) {
  const bool complete =
      call.has(UVERBS_ATTR_ALLOC_DM_HANDLE) && call.has(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET);
  if (!complete) return EINVAL;
  std::uint64_t type = MLX5_IB_UAPI_DM_TYPE_MEMIC;
  if (const int error = call.read(UVERBS_ATTR_ALLOC_DM_LENGTH, request.length)) return error;
  if (const int error = call.read(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, request.log_alignment)) {
    return error;
  }
  if (const int error = call.read_known(MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, type)) return error;
  if (type != MLX5_IB_UAPI_DM_TYPE_MEMIC) return EOPNOTSUPP;
  if (request.length == 0 || request.log_alignment > kMostLogAlignment) return EINVAL;
  return request.length > DeviceMemory::kMostBytes ? ENOMEM : 0;
}

struct DmMrRequest {
  std::uint64_t offset = 0, length = 0;
  std::uint32_t access = 0, pd = 0, dm = 0;
};

int read_request(const Attributes& call, DmMrRequest& request) {
  int error = call.read(UVERBS_ATTR_REG_DM_MR_OFFSET, request.offset);
  if (error == 0) error = call.read(UVERBS_ATTR_REG_DM_MR_LENGTH, request.length);
  if (error == 0) {
    error = call.flags(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, kAllowedAccess, request.access);
  }
  if (error == 0) error = call.number(UVERBS_ATTR_REG_DM_MR_PD_HANDLE, request.pd);
  if (error == 0) error = call.number(UVERBS_ATTR_REG_DM_MR_DM_HANDLE, request.dm);
  const bool complete = call.has(UVERBS_ATTR_REG_DM_MR_HANDLE) &&
                        call.has(UVERBS_ATTR_REG_DM_MR_RESP_LKEY) &&
                        call.has(UVERBS_ATTR_REG_DM_MR_RESP_RKEY);
  if (error != 0 || !complete) return error != 0 ? error : EINVAL;
  if ((request.access & IB_UVERBS_ACCESS_ZERO_BASED) == 0) return EINVAL;
  return check_access(request.access);
}

MrAttributes attributes_of(Device& device, const Pd& pd, const Dm& dm, const DmMrRequest& request) {
  MrAttributes attributes;
  attributes.pd = pd.number;
  attributes.base = host_address(device.memory().at(dm.first) + request.offset);
  attributes.length = request.length;
  attributes.access = access_of(request.access);
  if (request.length == 0) {
    // The NIC has no regions of no bytes: this is one that nobody may touch.
    attributes.length = 1;
    attributes.access = Access::none;
  }
  return attributes;
}

}  // namespace

int alloc_dm(Context& context, Attributes& call) {
  DmRequest request;
  if (const int error = read_request(call, request)) return error;
  auto dm = std::make_unique<Dm>();
  dm->length = request.length;
  dm->pages = (request.length + DeviceMemory::kPage - 1) / DeviceMemory::kPage;
  const Result<std::uint64_t> first = context.device().memory().take(dm->pages);
  if (!first) return errno_of(first.error());
  dm->first = *first;
  const auto index = static_cast<std::uint16_t>(*first);
  const std::uint32_t handle = context.handles().add(std::move(dm));
  int error = call.write(MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, index);
  if (error == 0) error = call.write(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, kStartOffset);
  if (error == 0) error = call.give_number(UVERBS_ATTR_ALLOC_DM_HANDLE, handle);
  return made<Dm>(context, handle, error);
}

int free_dm(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(UVERBS_ATTR_FREE_DM_HANDLE, handle)) return error;
  return destroy<Dm>(context, handle);
}

int query_dm(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, handle)) return error;
  const Dm* const dm = context.handles().find<Dm>(handle);
  if (dm == nullptr) return ENOENT;
  const auto index = static_cast<std::uint16_t>(dm->first);
  int error = call.write(MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, kStartOffset);
  if (error == 0) error = call.write(MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, index);
  if (error == 0) error = call.write(MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, dm->length);
  return error;
}

// Loads and stores that are atomic operations: this device has none.
int map_dm_operation(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  std::uint8_t operation = 0;
  if (const int error = call.number(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, handle)) return error;
  if (context.handles().find<Dm>(handle) == nullptr) return ENOENT;
  if (const int error = call.read(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, operation)) return error;
  return EOPNOTSUPP;
}

int reg_dm_mr(Context& context, Attributes& call) {
  DmMrRequest request;
  if (const int error = read_request(call, request)) return error;
  Pd* const pd = context.handles().find<Pd>(request.pd);
  Dm* const dm = context.handles().find<Dm>(request.dm);
  if (pd == nullptr || dm == nullptr) return ENOENT;
  if (request.offset > dm->length || request.length > dm->length - request.offset) return EINVAL;
  const MrAttributes attributes = attributes_of(context.device(), *pd, *dm, request);
  const Result<MemoryKey> key = context.nic().reg_mr(attributes, context.uid());
  if (!key) return errno_of(key.error());
  auto mr = std::make_unique<Mr>();
  mr->pd = Use<Pd>(pd);
  mr->dm = Use<Dm>(dm);
  mr->key = *key;
  mr->attributes = attributes;
  mr->place.length = request.length;
  const std::uint32_t handle = context.handles().add(std::move(mr));
  int error = call.write(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, *key);
  if (error == 0) error = call.write(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, *key);
  if (error == 0) error = call.give_number(UVERBS_ATTR_REG_DM_MR_HANDLE, handle);
  return made<Mr>(context, handle, error);
}

}  // namespace gdakit::softnic::uverbs
