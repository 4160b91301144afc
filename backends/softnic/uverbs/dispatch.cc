#include "backends/softnic/uverbs/dispatch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <string_view>

#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/failing_calls.h"
#include "backends/softnic/uverbs/write_methods.h"

namespace gdakit::softnic::uverbs {
namespace {

struct Method {
  std::string_view name;
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
    Method{"invoke",
           UVERBS_OBJECT_DEVICE,
           UVERBS_METHOD_INVOKE_WRITE,
           invoke_write,
           {UVERBS_ATTR_WRITE_CMD + 1, kDriverIo},
           true},
    Method{"get_context",
           UVERBS_OBJECT_DEVICE,
           UVERBS_METHOD_GET_CONTEXT,
           get_context,
           {UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT + 1, kDriverIo},
           true},
    Method{"query_context",
           UVERBS_OBJECT_DEVICE,
           UVERBS_METHOD_QUERY_CONTEXT,
           query_context,
           {UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT + 1, 1}},
    Method{"query_port",
           UVERBS_OBJECT_DEVICE,
           UVERBS_METHOD_QUERY_PORT,
           query_port,
           {UVERBS_ATTR_QUERY_PORT_RESP + 1}},
    Method{"query_gid_table",
           UVERBS_OBJECT_DEVICE,
           UVERBS_METHOD_QUERY_GID_TABLE,
           query_gid_table,
           {UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES + 1}},
    Method{"query_gid_entry",
           UVERBS_OBJECT_DEVICE,
           UVERBS_METHOD_QUERY_GID_ENTRY,
           query_gid_entry,
           {UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY + 1}},
    Method{"alloc_async_events",
           UVERBS_OBJECT_ASYNC_EVENT,
           UVERBS_METHOD_ASYNC_EVENT_ALLOC,
           alloc_async_events,
           {UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE + 1}},
    Method{"dealloc_pd",
           UVERBS_OBJECT_PD,
           UVERBS_METHOD_PD_DESTROY,
           dealloc_pd,
           {UVERBS_ATTR_DESTROY_PD_HANDLE + 1}},
    Method{"query_pd", UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, query_pd, {0, kPdAnswers}},
    Method{"reg_dm_mr",
           UVERBS_OBJECT_MR,
           UVERBS_METHOD_DM_MR_REG,
           reg_dm_mr,
           {UVERBS_ATTR_REG_DM_MR_RESP_RKEY + 1}},
    Method{"reg_dma_buf_mr",
           UVERBS_OBJECT_MR,
           UVERBS_METHOD_REG_DMABUF_MR,
           reg_dma_buf_mr,
           {UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY + 1}},
    Method{"advise_mr",
           UVERBS_OBJECT_MR,
           UVERBS_METHOD_ADVISE_MR,
           advise_mr,
           {UVERBS_ATTR_ADVISE_MR_SGE_LIST + 1}},
    Method{"query_mr",
           UVERBS_OBJECT_MR,
           UVERBS_METHOD_QUERY_MR,
           query_mr,
           {UVERBS_ATTR_QUERY_MR_RESP_IOVA + 1}},
    Method{"dereg_mr",
           UVERBS_OBJECT_MR,
           UVERBS_METHOD_MR_DESTROY,
           dereg_mr,
           {UVERBS_ATTR_DESTROY_MR_HANDLE + 1}},
    Method{"dealloc_mw",
           UVERBS_OBJECT_MW,
           UVERBS_METHOD_MW_DESTROY,
           dealloc_mw,
           {UVERBS_ATTR_DESTROY_MW_HANDLE + 1}},
    Method{"create_cq",
           UVERBS_OBJECT_CQ,
           UVERBS_METHOD_CQ_CREATE,
           create_cq,
           {UVERBS_ATTR_CREATE_CQ_EVENT_FD + 1, kDriverIo}},
    Method{"destroy_cq",
           UVERBS_OBJECT_CQ,
           UVERBS_METHOD_CQ_DESTROY,
           destroy_cq,
           {UVERBS_ATTR_DESTROY_CQ_RESP + 1}},
    Method{"create_srq",
           UVERBS_OBJECT_SRQ,
           UVERBS_METHOD_SRQ_CREATE,
           create_srq,
           {UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM + 1, kDriverIo}},
    Method{"destroy_srq",
           UVERBS_OBJECT_SRQ,
           UVERBS_METHOD_SRQ_DESTROY,
           destroy_srq,
           {UVERBS_ATTR_DESTROY_SRQ_RESP + 1}},
    Method{"close_xrcd",
           UVERBS_OBJECT_XRCD,
           UVERBS_METHOD_XRCD_DESTROY,
           close_xrcd,
           {UVERBS_ATTR_DESTROY_XRCD_HANDLE + 1}},
    Method{"create_qp",
           UVERBS_OBJECT_QP,
           UVERBS_METHOD_QP_CREATE,
           create_qp,
           {UVERBS_ATTR_CREATE_QP_RESP_QP_NUM + 1, kDriverIo}},
    Method{"destroy_qp",
           UVERBS_OBJECT_QP,
           UVERBS_METHOD_QP_DESTROY,
           destroy_qp,
           {UVERBS_ATTR_DESTROY_QP_RESP + 1}},
    Method{"destroy_ah",
           UVERBS_OBJECT_AH,
           UVERBS_METHOD_AH_DESTROY,
           destroy_ah,
           {UVERBS_ATTR_DESTROY_AH_HANDLE + 1}},
    Method{"alloc_dm",
           UVERBS_OBJECT_DM,
           UVERBS_METHOD_DM_ALLOC,
           alloc_dm,
           {UVERBS_ATTR_ALLOC_DM_ALIGNMENT + 1, kDmAnswers}},
    Method{"free_dm",
           UVERBS_OBJECT_DM,
           UVERBS_METHOD_DM_FREE,
           free_dm,
           {UVERBS_ATTR_FREE_DM_HANDLE + 1}},
    Method{"query_dm", UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, query_dm, {0, kDmAnswers + 1}},
    Method{"map_dm_operation",
           UVERBS_OBJECT_DM,
           MLX5_IB_METHOD_DM_MAP_OP_ADDR,
           map_dm_operation,
           {0, kDmAnswers + 1}},
    Method{
        "alloc_uar", MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, alloc_uar, {0, kUarAnswers}},
    Method{"free_uar", MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, free_uar, {0, 1}},
    Method{"devx_other", MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, devx_other, {0, 2}},
    Method{"devx_query_uar",
           MLX5_IB_OBJECT_DEVX,
           MLX5_IB_METHOD_DEVX_QUERY_UAR,
           devx_query_uar,
           {0, 2}},
    Method{"devx_query_eqn",
           MLX5_IB_OBJECT_DEVX,
           MLX5_IB_METHOD_DEVX_QUERY_EQN,
           devx_query_eqn,
           {0, 2}},
    Method{"devx_subscribe",
           MLX5_IB_OBJECT_DEVX,
           MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT,
           devx_subscribe,
           {0, 5}},
    Method{"devx_create",
           MLX5_IB_OBJECT_DEVX_OBJ,
           MLX5_IB_METHOD_DEVX_OBJ_CREATE,
           devx_create,
           {0, 3}},
    Method{"devx_destroy",
           MLX5_IB_OBJECT_DEVX_OBJ,
           MLX5_IB_METHOD_DEVX_OBJ_DESTROY,
           devx_destroy,
           {0, 1}},
    Method{"devx_modify",
           MLX5_IB_OBJECT_DEVX_OBJ,
           MLX5_IB_METHOD_DEVX_OBJ_MODIFY,
           devx_modify,
           {0, 3}},
    Method{
        "devx_query", MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, devx_query, {0, 3}},
    Method{"devx_query_async",
           MLX5_IB_OBJECT_DEVX_OBJ,
           MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY,
           devx_query_async,
           {0, 5}},
    Method{"register_umem",
           MLX5_IB_OBJECT_DEVX_UMEM,
           MLX5_IB_METHOD_DEVX_UMEM_REG,
           register_umem,
           {0, 7}},
    Method{"deregister_umem",
           MLX5_IB_OBJECT_DEVX_UMEM,
           MLX5_IB_METHOD_DEVX_UMEM_DEREG,
           deregister_umem,
           {0, 1}},
    Method{"devx_alloc_answers",
           MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD,
           MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC,
           devx_alloc_answers,
           {0, 1}},
    Method{"devx_alloc_events",
           MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD,
           MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC,
           devx_alloc_events,
           {0, 2}},
};

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
  if (const int error = refused(context, at->name)) return error;
  return at->command(context, call);
}

bool is_call(std::string_view name) {
  return is_write_call(name) || std::ranges::find(kMethods, name, &Method::name) != kMethods.end();
}

}  // namespace gdakit::softnic::uverbs
