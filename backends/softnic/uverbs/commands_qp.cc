// Queue pairs: made, asked about, and taken away.
#include <bit>
#include <cerrno>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5-abi.h>
#include <utility>

#include "backends/softnic/queues/no_send_queue.h"
#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/limits.h"
#include "backends/softnic/uverbs/qp_values.h"
#include "backends/softnic/uverbs/user_memory.h"
#include "core/format/doorbell.h"
#include "core/format/wqe.h"

namespace gdakit::softnic::uverbs {
namespace {

struct QpRequest {
  std::uint64_t user_handle = 0;
  std::uint32_t type = 0;
  std::uint32_t flags = 0;
  ib_uverbs_qp_cap capacity{};
  mlx5_ib_create_qp driver{};
  Pd* pd = nullptr;
  Cq* send_cq = nullptr;
  Cq* receive_cq = nullptr;
  Srq* srq = nullptr;
};

constexpr std::uint32_t kKnownFlags = IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
// A wish to have short payload in CQEs (MLX5_QP_FLAG_SCATTER_CQE) may be left unheard.
constexpr std::uint32_t kKnownDriverFlags =
    MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE | MLX5_QP_FLAG_UAR_PAGE_INDEX;

template <class T>
int find_object(Context& context, const Attributes& call, std::uint16_t id, T*& to) {
  std::uint32_t handle = 0;
  if (const int error = call.number(id, handle)) return error;
  to = context.handles().find<T>(handle);
  return to == nullptr ? ENOENT : 0;
}

int find_objects(Context& context, const Attributes& call, QpRequest& request) {
  if (const int error = find_object(context, call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, request.pd)) {
    return error;
  }
  if (const int error =
          find_object(context, call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, request.send_cq)) {
    return error;
  }
  if (call.has(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE)) {
    if (const int error =
            find_object(context, call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, request.srq)) {
      return error;
    }
  }
  return find_object(context, call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, request.receive_cq);
}

int read_request(Context& context, const Attributes& call, QpRequest& request) {
  if (const int error = call.read(UVERBS_ATTR_CREATE_QP_USER_HANDLE, request.user_handle)) {
    return error;
  }
  // It stands in eight bytes, of which the client fills as many as it likes.
  if (const int error = call.read_known(UVERBS_ATTR_CREATE_QP_TYPE, request.type)) return error;
  if (const int error = call.read(UVERBS_ATTR_CREATE_QP_CAP, request.capacity)) return error;
  if (const int error = call.read_known(UVERBS_ATTR_CREATE_QP_FLAGS, request.flags)) return error;
  if (const int error = call.read_known(UVERBS_ATTR_UHW_IN, request.driver)) return error;
  if (!service_of(request.type)) return EOPNOTSUPP;
  if ((request.flags & ~kKnownFlags) != 0) return EOPNOTSUPP;
  if ((request.driver.flags & ~kKnownDriverFlags) != 0) return EOPNOTSUPP;
  if ((request.driver.flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) == 0) return EOPNOTSUPP;
  return find_objects(context, call, request);
}

// A count of a power of two.
bool log_of(std::uint32_t count, std::uint32_t& log) {
  log = static_cast<std::uint32_t>(std::countr_zero(count));
  return std::has_single_bit(count) && count <= kMostWqes;
}

// Both queues, which lie in one piece that the send queue ends, and the record.
int check_memory(const mlx5_ib_create_qp& driver, std::uint64_t send_queue) {
  const std::uint64_t end = send_queue + std::uint64_t{driver.sq_wqe_count} * format::kWqebbBytes;
  if (end != driver.buf_addr) {
    if (const int error = pin(driver.buf_addr, end - driver.buf_addr, /*writable=*/false))
      return error;
  }
  return pin(driver.db_addr, sizeof(format::DoorbellRecord), /*writable=*/false);
}

int attributes_of(const QpRequest& request, QpAttributes& attributes) {
  const mlx5_ib_create_qp& driver = request.driver;
  attributes.service = *service_of(request.type);
  attributes.pd = request.pd->number;
  attributes.send_cq = request.send_cq->number;
  attributes.receive_cq = request.receive_cq->number;
  attributes.uar = driver.bfreg_index;
  attributes.doorbell_record = {driver.db_addr};
  attributes.user_index = driver.uidx & 0xffffff;
  if (request.srq != nullptr) attributes.srq = request.srq->number;
  std::uint64_t send_queue = driver.buf_addr;
  if (driver.rq_wqe_count != 0) {
    if (request.srq != nullptr) return EINVAL;
    if (!log_of(driver.rq_wqe_count, attributes.log_receive_wqes)) return EINVAL;
    if (driver.rq_wqe_shift < 4 || driver.rq_wqe_shift > 9) return EINVAL;
    attributes.has_receive_queue = true;
    attributes.receive_queue = {driver.buf_addr};
    attributes.log_receive_stride = driver.rq_wqe_shift;
    send_queue += std::uint64_t{driver.rq_wqe_count} << driver.rq_wqe_shift;
  }
  attributes.send_queue = {send_queue};
  if (driver.sq_wqe_count == 0) {
    attributes.send_queue = no_send_queue();
  } else if (!log_of(driver.sq_wqe_count, attributes.log_send_wqebbs)) {
    return EINVAL;
  }
  return check_memory(driver, send_queue);
}

// Of the receive queue what there is room for, which may be more than was asked for. What the send
// queue has room for, libmlx5 says.
void note(const QpRequest& request, ib_uverbs_query_qp_resp& known) {
  const mlx5_ib_create_qp& driver = request.driver;
  known.max_send_wr = request.capacity.max_send_wr;
  known.max_send_sge = request.capacity.max_send_sge;
  known.max_recv_wr = driver.rq_wqe_count;
  if (driver.rq_wqe_count != 0) {
    known.max_recv_sge = (1u << driver.rq_wqe_shift) / sizeof(format::DataSegment);
  }
  known.max_inline_data = request.capacity.max_inline_data;
  known.sq_sig_all = (request.flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL) != 0 ? 1 : 0;
}

}  // namespace

int create_qp(Context& context, Attributes& call) {
  QpRequest request;
  QpAttributes attributes;
  if (!call.has(UVERBS_ATTR_CREATE_QP_HANDLE)) return EINVAL;
  if (const int error = read_request(context, call, request)) return error;
  if (const int error = attributes_of(request, attributes)) return error;
  const Result<QpNumber> number = context.nic().create_qp(attributes);
  if (!number) return errno_of(number.error());
  context.device().events().add_qp(*number, {request.user_handle, nullptr, context.errors()});
  auto qp = std::make_unique<Qp>();
  qp->number = *number;
  qp->service = attributes.service;
  qp->pd = Use<Pd>(request.pd);
  qp->send_cq = Use<Cq>(request.send_cq);
  qp->receive_cq = Use<Cq>(request.receive_cq);
  qp->srq = Use<Srq>(request.srq);
  note(request, *qp->known);
  const std::uint32_t handle = context.handles().add(std::move(qp));
  int error = call.write(UVERBS_ATTR_CREATE_QP_RESP_CAP, request.capacity);
  if (error == 0) error = call.write(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, *number);
  if (error == 0) error = call.write(UVERBS_ATTR_UHW_OUT, mlx5_ib_create_qp_resp{});
  if (error == 0) error = call.give_number(UVERBS_ATTR_CREATE_QP_HANDLE, handle);
  return made<Qp>(context, handle, error);
}

int query_qp(Context& context, Attributes& call) {
  ib_uverbs_query_qp request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  const Qp* const qp = context.handles().find<Qp>(request.qp_handle);
  if (qp == nullptr) return EINVAL;
  const Result<QpInfo> info = context.nic().query_qp(qp->number);
  if (!info) return errno_of(info.error());
  ib_uverbs_query_qp_resp& known = *qp->known;
  known.qp_state = known.cur_qp_state = verbs_state(info->state);
  known.sq_draining = info->sq_draining ? 1 : 0;
  return call.write_bytes(UVERBS_ATTR_CORE_OUT, &known, sizeof known);
}

int destroy_qp(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(UVERBS_ATTR_DESTROY_QP_HANDLE, handle)) return error;
  EventCounts told;
  if (const int error = destroy<Qp>(context, handle, &told)) return error;
  return call.write(UVERBS_ATTR_DESTROY_QP_RESP, ib_uverbs_destroy_qp_resp{told.errors});
}

}  // namespace gdakit::softnic::uverbs
