// Address handles: the way of a datagram, which each of its WQEs carries whole.
#include <cerrno>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5-abi.h>
#include <utility>

#include "backends/softnic/uverbs/commands.h"

namespace gdakit::softnic::uverbs {

int create_ah(Context& context, Attributes& call) {
  ib_uverbs_create_ah request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  Pd* const pd = context.handles().find<Pd>(request.pd_handle);
  const Identity& identity = context.device().identity();
  const bool ethernet = identity.link() == LinkLayer::ethernet;
  if (pd == nullptr || !context.device().has_port(request.attr.port_num)) return EINVAL;
  if (ethernet && request.attr.is_global == 0) return EINVAL;
  if (request.attr.is_global != 0 && !context.device().gids().at(request.attr.grh.sgid_index))
    return EINVAL;
  const int no_route = context.device().failures().route;
  if (ethernet && no_route != 0) return no_route;
  auto ah = std::make_unique<Ah>();
  ah->pd = Use<Pd>(pd);
  const std::uint32_t handle = context.handles().add(std::move(ah));
  mlx5_ib_create_ah_resp answer{};
  answer.response_length = sizeof answer;
  answer.dmac[0] = 2;  // of one's own, as every port of a fabric has
  int error = call.write(UVERBS_ATTR_CORE_OUT, handle);
  if (error == 0) error = call.write(UVERBS_ATTR_UHW_OUT, answer);
  return made<Ah>(context, handle, error);
}

int destroy_ah(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(UVERBS_ATTR_DESTROY_AH_HANDLE, handle)) return error;
  return destroy<Ah>(context, handle);
}

}  // namespace gdakit::softnic::uverbs
