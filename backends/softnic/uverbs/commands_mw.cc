// Memory windows: the keys that WQEs bind to parts of regions.
#include <cerrno>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <utility>

#include "backends/softnic/uverbs/commands.h"

namespace gdakit::softnic::uverbs {
namespace {

// enum ibv_mw_type, which the uapi does not have.
constexpr std::uint8_t kType1 = 1;
constexpr std::uint8_t kType2 = 2;

// mlx5_ib_alloc_mw_resp, which this version of the uapi does not have.
struct DriverAnswer {
  std::uint32_t response_length = 0;
};

}  // namespace

int alloc_mw(Context& context, Attributes& call) {
  ib_uverbs_alloc_mw request{};
  mlx5_ib_alloc_mw driver{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  Pd* const pd = context.handles().find<Pd>(request.pd_handle);
  if (pd == nullptr) return EINVAL;
  if (request.mw_type != kType1 && request.mw_type != kType2) return EINVAL;
  if (const int error = call.read_known(UVERBS_ATTR_UHW_IN, driver)) return error;
  if (driver.comp_mask != 0 || driver.reserved1 != 0 || driver.reserved2 != 0) return EOPNOTSUPP;
  const WindowType type = request.mw_type == kType1 ? WindowType::type_1 : WindowType::type_2;
  const Result<MemoryKey> key = context.nic().alloc_mw(pd->number, type, context.uid());
  if (!key) return errno_of(key.error());
  auto mw = std::make_unique<Mw>();
  mw->pd = Use<Pd>(pd);
  mw->key = *key;
  const std::uint32_t handle = context.handles().add(std::move(mw));
  const std::uint32_t answer[] = {handle, *key};  // ib_uverbs_alloc_mw_resp
  int error = call.write(UVERBS_ATTR_CORE_OUT, answer);
  if (error == 0) error = call.write(UVERBS_ATTR_UHW_OUT, DriverAnswer{sizeof(DriverAnswer)});
  return made<Mw>(context, handle, error);
}

int dealloc_mw(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(UVERBS_ATTR_DESTROY_MW_HANDLE, handle)) return error;
  return destroy<Mw>(context, handle);
}

int dealloc_mw_write(Context& context, Attributes& call) {
  ib_uverbs_dealloc_mw request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  return destroy<Mw>(context, request.mw_handle);
}

}  // namespace gdakit::softnic::uverbs
