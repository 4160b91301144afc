#include "backends/softnic/uverbs/dispatch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "backends/softnic/uverbs/commands.h"

namespace gdakit::softnic::uverbs {
namespace {

int invoke_write(Context& context, Attributes& call);

struct Method {
  std::uint16_t object = 0;
  std::uint16_t method = 0;
  Command command = nullptr;
  KnownAttributes known;      // of a kernel that has the method, used here or not
  bool before_begin = false;  // allowed before GET_CONTEXT
};

constexpr std::uint16_t kDriverIo = 2;  // UHW_IN and UHW_OUT
constexpr std::uint16_t kPdAnswers = 2;
constexpr std::uint16_t kUarAnswers = 5;
constexpr std::uint16_t kDmAnswers = 3;

constexpr std::array kMethods = {
    Method{UVERBS_OBJECT_DEVICE,
           UVERBS_METHOD_INVOKE_WRITE,
           invoke_write,
           {UVERBS_ATTR_WRITE_CMD + 1, kDriverIo},
           true},
    Method{UVERBS_OBJECT_DEVICE,
           UVERBS_METHOD_GET_CONTEXT,
           get_context,
           {UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT + 1, kDriverIo},
           true},
    Method{UVERBS_OBJECT_DEVICE,
           UVERBS_METHOD_QUERY_CONTEXT,
           query_context,
           {UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT + 1, 1}},
    Method{UVERBS_OBJECT_DEVICE,
           UVERBS_METHOD_QUERY_PORT,
           query_port,
           {UVERBS_ATTR_QUERY_PORT_RESP + 1}},
    Method{UVERBS_OBJECT_DEVICE,
           UVERBS_METHOD_QUERY_GID_TABLE,
           query_gid_table,
           {UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES + 1}},
    Method{UVERBS_OBJECT_DEVICE,
           UVERBS_METHOD_QUERY_GID_ENTRY,
           query_gid_entry,
           {UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY + 1}},
    Method{UVERBS_OBJECT_ASYNC_EVENT,
           UVERBS_METHOD_ASYNC_EVENT_ALLOC,
           alloc_async_events,
           {UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE + 1}},
    Method{UVERBS_OBJECT_PD,
           UVERBS_METHOD_PD_DESTROY,
           dealloc_pd,
           {UVERBS_ATTR_DESTROY_PD_HANDLE + 1}},
    Method{UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, query_pd, {0, kPdAnswers}},
    Method{UVERBS_OBJECT_MR,
           UVERBS_METHOD_DM_MR_REG,
           reg_dm_mr,
           {UVERBS_ATTR_REG_DM_MR_RESP_RKEY + 1}},
    Method{UVERBS_OBJECT_MR,
           UVERBS_METHOD_REG_DMABUF_MR,
           reg_dma_buf_mr,
           {UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY + 1}},
    Method{
        UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, advise_mr, {UVERBS_ATTR_ADVISE_MR_SGE_LIST + 1}},
    Method{
        UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, query_mr, {UVERBS_ATTR_QUERY_MR_RESP_IOVA + 1}},
    Method{
        UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, dereg_mr, {UVERBS_ATTR_DESTROY_MR_HANDLE + 1}},
    Method{UVERBS_OBJECT_MW,
           UVERBS_METHOD_MW_DESTROY,
           dealloc_mw,
           {UVERBS_ATTR_DESTROY_MW_HANDLE + 1}},
    Method{UVERBS_OBJECT_CQ,
           UVERBS_METHOD_CQ_CREATE,
           create_cq,
           {UVERBS_ATTR_CREATE_CQ_EVENT_FD + 1, kDriverIo}},
    Method{
        UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, destroy_cq, {UVERBS_ATTR_DESTROY_CQ_RESP + 1}},
    Method{UVERBS_OBJECT_SRQ,
           UVERBS_METHOD_SRQ_CREATE,
           create_srq,
           {UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM + 1, kDriverIo}},
    Method{UVERBS_OBJECT_SRQ,
           UVERBS_METHOD_SRQ_DESTROY,
           destroy_srq,
           {UVERBS_ATTR_DESTROY_SRQ_RESP + 1}},
    Method{UVERBS_OBJECT_XRCD,
           UVERBS_METHOD_XRCD_DESTROY,
           close_xrcd,
           {UVERBS_ATTR_DESTROY_XRCD_HANDLE + 1}},
    Method{UVERBS_OBJECT_QP,
           UVERBS_METHOD_QP_CREATE,
           create_qp,
           {UVERBS_ATTR_CREATE_QP_RESP_QP_NUM + 1, kDriverIo}},
    Method{
        UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, destroy_qp, {UVERBS_ATTR_DESTROY_QP_RESP + 1}},
    Method{UVERBS_OBJECT_AH,
           UVERBS_METHOD_AH_DESTROY,
           destroy_ah,
           {UVERBS_ATTR_DESTROY_AH_HANDLE + 1}},
    Method{UVERBS_OBJECT_DM,
           UVERBS_METHOD_DM_ALLOC,
           alloc_dm,
           {UVERBS_ATTR_ALLOC_DM_ALIGNMENT + 1, kDmAnswers}},
    Method{UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, free_dm, {UVERBS_ATTR_FREE_DM_HANDLE + 1}},
    Method{UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, query_dm, {0, kDmAnswers + 1}},
    Method{UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR, map_dm_operation, {0, kDmAnswers + 1}},
    Method{MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, alloc_uar, {0, kUarAnswers}},
    Method{MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, free_uar, {0, 1}},
    Method{MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, devx_other, {0, 2}},
    Method{MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR, devx_query_uar, {0, 2}},
    Method{MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN, devx_query_eqn, {0, 2}},
    Method{MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT, devx_subscribe, {0, 5}},
    Method{MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, devx_create, {0, 3}},
    Method{MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, devx_destroy, {0, 1}},
    Method{MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, devx_modify, {0, 3}},
    Method{MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, devx_query, {0, 3}},
    Method{MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY, devx_query_async, {0, 5}},
    Method{MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG, register_umem, {0, 7}},
    Method{MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, deregister_umem, {0, 1}},
    Method{MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD,
           MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC,
           devx_alloc_answers,
           {0, 1}},
    Method{MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD,
           MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC,
           devx_alloc_events,
           {0, 2}},
};

// The extended form of a command of the write() interface.
constexpr std::uint32_t kExtended = 0x80000000;

struct WriteMethod {
  std::uint32_t number = 0;
  std::size_t in = 0;   // the least bytes of CORE_IN
  std::size_t out = 0;  // ... and of CORE_OUT
  Command command = nullptr;
};

constexpr std::array kWriteMethods = {
    WriteMethod{IB_USER_VERBS_CMD_QUERY_DEVICE, sizeof(ib_uverbs_query_device),
                sizeof(ib_uverbs_query_device_resp), query_device},
    WriteMethod{kExtended | IB_USER_VERBS_CMD_QUERY_DEVICE, sizeof(ib_uverbs_ex_query_device),
                offsetof(ib_uverbs_ex_query_device_resp, odp_caps), query_device_ex},
    WriteMethod{IB_USER_VERBS_CMD_ALLOC_PD, sizeof(ib_uverbs_alloc_pd),
                sizeof(ib_uverbs_alloc_pd_resp), alloc_pd},
    WriteMethod{IB_USER_VERBS_CMD_DEALLOC_PD, sizeof(ib_uverbs_dealloc_pd), 0, dealloc_pd_write},
    WriteMethod{IB_USER_VERBS_CMD_REG_MR, sizeof(ib_uverbs_reg_mr), sizeof(ib_uverbs_reg_mr_resp),
                reg_mr},
    WriteMethod{IB_USER_VERBS_CMD_REREG_MR, sizeof(ib_uverbs_rereg_mr),
                sizeof(ib_uverbs_rereg_mr_resp), rereg_mr},
    WriteMethod{IB_USER_VERBS_CMD_DEREG_MR, sizeof(ib_uverbs_dereg_mr), 0, dereg_mr_write},
    WriteMethod{IB_USER_VERBS_CMD_ALLOC_MW, sizeof(ib_uverbs_alloc_mw),
                sizeof(ib_uverbs_alloc_mw_resp), alloc_mw},
    WriteMethod{IB_USER_VERBS_CMD_DEALLOC_MW, sizeof(ib_uverbs_dealloc_mw), 0, dealloc_mw_write},
    WriteMethod{IB_USER_VERBS_CMD_RESIZE_CQ, sizeof(ib_uverbs_resize_cq),
                sizeof(ib_uverbs_resize_cq_resp), resize_cq},
    WriteMethod{kExtended | IB_USER_VERBS_EX_CMD_MODIFY_CQ, sizeof(ib_uverbs_ex_modify_cq), 0,
                modify_cq},
    WriteMethod{IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, sizeof(ib_uverbs_create_comp_channel),
                sizeof(ib_uverbs_create_comp_channel_resp), create_channel},
    WriteMethod{IB_USER_VERBS_CMD_MODIFY_SRQ, sizeof(ib_uverbs_modify_srq), 0, modify_srq},
    WriteMethod{IB_USER_VERBS_CMD_QUERY_SRQ, sizeof(ib_uverbs_query_srq),
                sizeof(ib_uverbs_query_srq_resp), query_srq},
    WriteMethod{IB_USER_VERBS_CMD_OPEN_XRCD, sizeof(ib_uverbs_open_xrcd),
                sizeof(ib_uverbs_open_xrcd_resp), open_xrcd},
    WriteMethod{IB_USER_VERBS_CMD_CLOSE_XRCD, sizeof(ib_uverbs_close_xrcd), 0, close_xrcd_write},
    WriteMethod{IB_USER_VERBS_CMD_OPEN_QP, sizeof(ib_uverbs_open_qp),
                sizeof(ib_uverbs_create_qp_resp), open_qp},
    WriteMethod{IB_USER_VERBS_CMD_QUERY_QP, sizeof(ib_uverbs_query_qp),
                sizeof(ib_uverbs_query_qp_resp), query_qp},
    WriteMethod{IB_USER_VERBS_CMD_MODIFY_QP, sizeof(ib_uverbs_modify_qp), 0, modify_qp},
    WriteMethod{kExtended | IB_USER_VERBS_CMD_MODIFY_QP,
                offsetof(ib_uverbs_ex_modify_qp, rate_limit), 0, modify_qp_ex},
    WriteMethod{IB_USER_VERBS_CMD_ATTACH_MCAST, sizeof(ib_uverbs_attach_mcast), 0, attach_mcast},
    WriteMethod{IB_USER_VERBS_CMD_DETACH_MCAST, sizeof(ib_uverbs_detach_mcast), 0, detach_mcast},
    WriteMethod{IB_USER_VERBS_CMD_CREATE_AH, sizeof(ib_uverbs_create_ah),
                sizeof(ib_uverbs_create_ah_resp), create_ah},
};

// A command of the write() interface, whose number is an attribute.
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
  return context.begun() ? at->command(context, call) : EINVAL;
}

}  // namespace

int dispatch(Context& context, Attributes& call) {
  const CallHeader& header = call.header();
  const auto at = std::find_if(kMethods.begin(), kMethods.end(), [&header](const Method& method) {
    return method.object == header.object_id && method.method == header.method_id;
  });
  if (at == kMethods.end()) return EPROTONOSUPPORT;
  if (header.driver_id != RDMA_DRIVER_MLX5) return EINVAL;
  if (!context.begun() && !at->before_begin) return EINVAL;
  if (const int error = call.check(at->known)) return error;
  return at->command(context, call);
}

}  // namespace gdakit::softnic::uverbs
