// Queue pairs: brought from state to state.
#include <cerrno>
#include <optional>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5-abi.h>

#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/commands_dct.h"
#include "backends/softnic/uverbs/firmware_call.h"
#include "backends/softnic/uverbs/limits.h"
#include "backends/softnic/uverbs/qp_values.h"
#include "backends/softnic/uverbs/transition_masks.h"

namespace gdakit::softnic::uverbs {
namespace {

int check_values(Device& device, const ib_uverbs_modify_qp& request) {
  const std::uint32_t mask = request.attr_mask;
  if ((mask & attr::kPort) != 0 && !device.has_port(request.port_num)) return EINVAL;
  if ((mask & attr::kPkeyIndex) != 0 && request.pkey_index != 0) return EINVAL;
  if ((mask & attr::kPath) == 0) return 0;
  if (!device.has_port(request.dest.port_num)) return EINVAL;
  if (device.identity().link() == LinkLayer::infiniband) return 0;
  const bool known_source = device.gids().at(request.dest.sgid_index).has_value();
  return request.dest.is_global != 0 && known_source ? 0 : EINVAL;
}

// The state that a request says, if it says one; what it leaves unsaid may be anything.
std::optional<QpState> state_of(std::uint32_t is_said, std::uint8_t said, QpState otherwise) {
  return is_said != 0 ? qp_state(said) : otherwise;
}

// The state that it is in.
int find_state(Context& context, const Qp& qp, QpState& state) {
  if (qp.dct != nullptr) {
    state = qp.dct->state;
    return 0;
  }
  const Result<QpInfo> info = context.nic().query_qp(qp.number, qp.uid);
  if (!info) return errno_of(info.error());
  state = info->state;
  return 0;
}

int carry_out(Context& context, Qp& qp, const StateChange& change) {
  if (qp.dct != nullptr) return modify_dct(context, qp, change.to);
  prm::Opcode opcode{};
  prm::Mailbox<prm::Rst2initQpIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::Rst2initQpIn::qpn, qp.number);
  if (const int error = mailbox_of(qp, change, context.device().addresses(), opcode, in)) {
    return error;
  }
  return errno_of(run_command(context.device(), qp.uid, opcode, in, out));
}

int modify(Context& context, ib_uverbs_modify_qp request) {
  Qp* const qp = context.handles().find<Qp>(request.qp_handle);
  if (qp == nullptr) return EINVAL;
  const std::uint32_t mask = request.attr_mask = without_ignored(qp->type, request.attr_mask);
  QpState state{};
  if (const int error = find_state(context, *qp, state)) return error;
  const auto from = state_of(mask & attr::kCurrentState, request.cur_qp_state, state);
  if (!from) return EINVAL;
  const auto to = state_of(mask & attr::kState, request.qp_state, *from);
  if (!to || !may_modify(qp->type, *from, *to, mask)) return EINVAL;
  if (const int error = check_values(context.device(), request)) return error;
  const int no_route = context.device().failures().route;
  const bool resolves = context.device().identity().link() == LinkLayer::ethernet;
  if (no_route != 0 && resolves && (mask & attr::kPath) != 0) return no_route;
  const ib_uverbs_query_qp_resp before = *qp->known;
  note(request, *qp->known);
  const int error = carry_out(context, *qp, {*from, *to, mask});
  if (error != 0) *qp->known = before;
  return error;
}

}  // namespace

int modify_qp(Context& context, Attributes& call) {
  ib_uverbs_modify_qp request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  return modify(context, request);
}

int modify_qp_ex(Context& context, Attributes& call) {
  ib_uverbs_ex_modify_qp request{};
  if (const int error = call.read_known(UVERBS_ATTR_CORE_IN, request)) return error;
  if (const int error = modify(context, request.base)) return error;
  ib_uverbs_ex_modify_qp_resp answer{};
  answer.response_length = sizeof answer;
  if (const int error = call.write(UVERBS_ATTR_CORE_OUT, answer)) return error;
  mlx5_ib_modify_qp_resp driver{};
  driver.response_length = sizeof driver;
  const Qp* const qp = context.handles().find<Qp>(request.base.qp_handle);
  if (qp != nullptr && qp->dct != nullptr) driver.dctn = qp->number;
  return call.write(UVERBS_ATTR_UHW_OUT, driver);
}

}  // namespace gdakit::softnic::uverbs
