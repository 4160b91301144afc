#include "backends/softnic/uverbs/write_methods.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/failing_calls.h"

namespace gdakit::softnic::uverbs {
namespace {

// The extended form of a command of the write() interface.
constexpr std::uint32_t kExtended = 0x80000000;

struct WriteMethod {
  std::string_view name;
  std::uint32_t number = 0;
  std::size_t in = 0;   // the least bytes of CORE_IN
  std::size_t out = 0;  // ... and of CORE_OUT
  Command command = nullptr;
};

constexpr std::array kWriteMethods = {
    WriteMethod{"query_device", IB_USER_VERBS_CMD_QUERY_DEVICE, sizeof(ib_uverbs_query_device),
                sizeof(ib_uverbs_query_device_resp), query_device},
    WriteMethod{"query_device", kExtended | IB_USER_VERBS_CMD_QUERY_DEVICE,
                sizeof(ib_uverbs_ex_query_device),
                offsetof(ib_uverbs_ex_query_device_resp, odp_caps), query_device_ex},
    WriteMethod{"alloc_pd", IB_USER_VERBS_CMD_ALLOC_PD, sizeof(ib_uverbs_alloc_pd),
                sizeof(ib_uverbs_alloc_pd_resp), alloc_pd},
    WriteMethod{"dealloc_pd", IB_USER_VERBS_CMD_DEALLOC_PD, sizeof(ib_uverbs_dealloc_pd), 0,
                dealloc_pd_write},
    WriteMethod{"reg_mr", IB_USER_VERBS_CMD_REG_MR, sizeof(ib_uverbs_reg_mr),
                sizeof(ib_uverbs_reg_mr_resp), reg_mr},
    WriteMethod{"rereg_mr", IB_USER_VERBS_CMD_REREG_MR, sizeof(ib_uverbs_rereg_mr),
                sizeof(ib_uverbs_rereg_mr_resp), rereg_mr},
    WriteMethod{"dereg_mr", IB_USER_VERBS_CMD_DEREG_MR, sizeof(ib_uverbs_dereg_mr), 0,
                dereg_mr_write},
    WriteMethod{"alloc_mw", IB_USER_VERBS_CMD_ALLOC_MW, sizeof(ib_uverbs_alloc_mw),
                sizeof(ib_uverbs_alloc_mw_resp), alloc_mw},
    WriteMethod{"dealloc_mw", IB_USER_VERBS_CMD_DEALLOC_MW, sizeof(ib_uverbs_dealloc_mw), 0,
                dealloc_mw_write},
    WriteMethod{"resize_cq", IB_USER_VERBS_CMD_RESIZE_CQ, sizeof(ib_uverbs_resize_cq),
                sizeof(ib_uverbs_resize_cq_resp), resize_cq},
    WriteMethod{"modify_cq", kExtended | IB_USER_VERBS_EX_CMD_MODIFY_CQ,
                sizeof(ib_uverbs_ex_modify_cq), 0, modify_cq},
    WriteMethod{"create_channel", IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
                sizeof(ib_uverbs_create_comp_channel), sizeof(ib_uverbs_create_comp_channel_resp),
                create_channel},
    WriteMethod{"modify_srq", IB_USER_VERBS_CMD_MODIFY_SRQ, sizeof(ib_uverbs_modify_srq), 0,
                modify_srq},
    WriteMethod{"query_srq", IB_USER_VERBS_CMD_QUERY_SRQ, sizeof(ib_uverbs_query_srq),
                sizeof(ib_uverbs_query_srq_resp), query_srq},
    WriteMethod{"open_xrcd", IB_USER_VERBS_CMD_OPEN_XRCD, sizeof(ib_uverbs_open_xrcd),
                sizeof(ib_uverbs_open_xrcd_resp), open_xrcd},
    WriteMethod{"close_xrcd", IB_USER_VERBS_CMD_CLOSE_XRCD, sizeof(ib_uverbs_close_xrcd), 0,
                close_xrcd_write},
    WriteMethod{"open_qp", IB_USER_VERBS_CMD_OPEN_QP, sizeof(ib_uverbs_open_qp),
                sizeof(ib_uverbs_create_qp_resp), open_qp},
    WriteMethod{"query_qp", IB_USER_VERBS_CMD_QUERY_QP, sizeof(ib_uverbs_query_qp),
                sizeof(ib_uverbs_query_qp_resp), query_qp},
    WriteMethod{"modify_qp", IB_USER_VERBS_CMD_MODIFY_QP, sizeof(ib_uverbs_modify_qp), 0,
                modify_qp},
    WriteMethod{"modify_qp", kExtended | IB_USER_VERBS_CMD_MODIFY_QP,
                offsetof(ib_uverbs_ex_modify_qp, rate_limit), 0, modify_qp_ex},
    WriteMethod{"attach_mcast", IB_USER_VERBS_CMD_ATTACH_MCAST, sizeof(ib_uverbs_attach_mcast), 0,
                attach_mcast},
    WriteMethod{"detach_mcast", IB_USER_VERBS_CMD_DETACH_MCAST, sizeof(ib_uverbs_detach_mcast), 0,
                detach_mcast},
    WriteMethod{"create_ah", IB_USER_VERBS_CMD_CREATE_AH, sizeof(ib_uverbs_create_ah),
                sizeof(ib_uverbs_create_ah_resp), create_ah},
};

}  // namespace

int invoke_write(Context& context, Attributes& call) {
  std::uint32_t number = 0;
  if (const int error = call.read(UVERBS_ATTR_WRITE_CMD, number)) return error;
  const auto at =
      std::find_if(kWriteMethods.begin(), kWriteMethods.end(),
                   [number](const WriteMethod& method) { return method.number == number; });
  if (at == kWriteMethods.end()) return EOPNOTSUPP;
  if (call.length(UVERBS_ATTR_CORE_IN) < at->in || call.length(UVERBS_ATTR_CORE_OUT) < at->out) {
    return ENOSPC;
  }
  if (!context.begun()) return EINVAL;
  if (const int error = refused(context, at->name)) return error;
  return at->command(context, call);
}

bool is_write_call(std::string_view name) {
  return std::ranges::find(kWriteMethods, name, &WriteMethod::name) != kWriteMethods.end();
}

}  // namespace gdakit::softnic::uverbs
