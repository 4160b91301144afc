// Queue pairs: made, asked about, and taken away.
#include <bit>
#include <cerrno>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5-abi.h>
#include <utility>

#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/commands_dct.h"
#include "backends/softnic/uverbs/firmware_call.h"
#include "backends/softnic/uverbs/limits.h"
#include "backends/softnic/uverbs/qp_values.h"
#include "backends/softnic/uverbs/user_memory.h"
#include "core/format/doorbell.h"
#include "core/format/prm/qp.h"
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
  Xrcd* xrcd = nullptr;
};

constexpr std::uint32_t kKnownFlags = IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
// A wish to have short payload in CQEs (MLX5_QP_FLAG_SCATTER_CQE) may be left unheard.
constexpr std::uint32_t kKnownDriverFlags =
    MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE | MLX5_QP_FLAG_UAR_PAGE_INDEX;

// A target of XRC has nothing of its own.
int find_domain(Context& context, const Attributes& call, QpRequest& request) {
  const bool has_others =
      call.has(UVERBS_ATTR_CREATE_QP_PD_HANDLE) || call.has(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE) ||
      call.has(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE) || call.has(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE);
  if (has_others) return EINVAL;
  return find_object(context, call, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, request.xrcd);
}

// The driver's own types: of them there are the ends of DC. Nothing: it is none.
std::optional<std::uint32_t> take_dc_type(mlx5_ib_create_qp& driver) {
  constexpr std::uint32_t kEnds = MLX5_QP_FLAG_TYPE_DCI | MLX5_QP_FLAG_TYPE_DCT;
  const std::uint32_t end = driver.flags & kEnds;
  driver.flags &= ~kEnds;
  if (end == MLX5_QP_FLAG_TYPE_DCI) return kDciType;
  if (end != MLX5_QP_FLAG_TYPE_DCT) return std::nullopt;
  // It has no queue of its own, and no page.
  driver.flags |= MLX5_QP_FLAG_UAR_PAGE_INDEX;
  return kDctType;
}

// Of a target of DC: all that it needs, before it is there.
int find_target(Context& context, const Attributes& call, QpRequest& request) {
  if (const int error = find_object(context, call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, request.pd)) {
    return error;
  }
  if (const int error = find_object(context, call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, request.srq)) {
    return error;
  }
  return find_object(context, call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, request.receive_cq);
}

int find_objects(Context& context, const Attributes& call, QpRequest& request) {
  if (request.type == IB_UVERBS_QPT_XRC_TGT) return find_domain(context, call, request);
  if (request.type == kDctType) return find_target(context, call, request);
  if (const int error = find_object(context, call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, request.pd)) {
    return error;
  }
  if (const int error =
          find_object(context, call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, request.send_cq)) {
    return error;
  }
  // An initiator receives nothing, whatever it says.
  if (request.type == IB_UVERBS_QPT_XRC_INI || request.type == kDciType) return 0;
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
  if (request.type == IB_UVERBS_QPT_DRIVER) {
    const auto type = take_dc_type(request.driver);
    if (!type) return EOPNOTSUPP;
    request.type = *type;
  } else if (!service_of(request.type) || request.type >= kDciType) {
    return EOPNOTSUPP;
  }
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

using QpcWriter = prm::View<prm::Qpc, std::uint8_t>;

int describe_receive_queue(const QpRequest& request, QpcWriter context) {
  using prm::Qpc;
  const mlx5_ib_create_qp& driver = request.driver;
  if (request.srq != nullptr) {
    context.set(Qpc::rq_type, static_cast<std::uint64_t>(prm::RqType::shared));
    context.set(Qpc::srqn_rmpn_xrqn, request.srq->number);
    return driver.rq_wqe_count == 0 ? 0 : EINVAL;
  }
  if (driver.rq_wqe_count == 0) {
    context.set(Qpc::rq_type, static_cast<std::uint64_t>(prm::RqType::none));
    return 0;
  }
  std::uint32_t log_size = 0;
  if (!log_of(driver.rq_wqe_count, log_size)) return EINVAL;
  if (driver.rq_wqe_shift < 4 || driver.rq_wqe_shift > 9) return EINVAL;
  context.set(Qpc::rq_type, static_cast<std::uint64_t>(prm::RqType::regular));
  context.set(Qpc::log_rq_size, log_size);
  context.set(Qpc::log_rq_stride, driver.rq_wqe_shift - 4);
  return 0;
}

int describe_send_queue(const mlx5_ib_create_qp& driver, QpcWriter context) {
  std::uint32_t log_size = 0;
  if (driver.sq_wqe_count == 0) {
    context.set(prm::Qpc::no_sq, 1);
  } else if (!log_of(driver.sq_wqe_count, log_size)) {
    return EINVAL;
  }
  context.set(prm::Qpc::log_sq_size, log_size);
  return 0;
}

// Both queues, which lie in one piece that the send queue ends, and the record.
int pin_queues(const mlx5_ib_create_qp& driver) {
  std::uint64_t bytes = std::uint64_t{driver.sq_wqe_count} * format::kWqebbBytes;
  if (driver.rq_wqe_count != 0) bytes += std::uint64_t{driver.rq_wqe_count} << driver.rq_wqe_shift;
  if (bytes != 0) {
    if (const int error = pin(driver.buf_addr, bytes, /*writable=*/false)) return error;
  }
  return pin(driver.db_addr, sizeof(format::DoorbellRecord), /*writable=*/false);
}

int mailbox_of(const QpRequest& request, prm::Mailbox<prm::CreateQpIn>& in) {
  using prm::Qpc;
  const mlx5_ib_create_qp& driver = request.driver;
  if (driver.bfreg_index > kMostNumber) return EINVAL;
  const auto context = in.at(prm::CreateQpIn::qpc);
  context.set(Qpc::st, st_of(*service_of(request.type)));
  context.set(Qpc::pm_state, prm::kPathMigrated);
  if (request.xrcd != nullptr) {
    context.set(Qpc::no_sq, 1);
    context.set(Qpc::xrcd, request.xrcd->number);
    return 0;
  }
  context.set(Qpc::pd, request.pd->number);
  context.set(Qpc::cqn_snd, request.send_cq->number);
  if (request.receive_cq != nullptr) context.set(Qpc::cqn_rcv, request.receive_cq->number);
  context.set(Qpc::uar_page, driver.bfreg_index);
  context.set(Qpc::user_index, driver.uidx & kMostNumber);
  context.set(Qpc::dbr_addr, driver.db_addr);
  in.set(prm::CreateQpIn::wq_umem_offset, driver.buf_addr);
  if (const int error = describe_receive_queue(request, context)) return error;
  if (const int error = describe_send_queue(driver, context)) return error;
  return pin_queues(driver);
}

// Of the receive queue what there is room for, which may be more than was asked for. What the send
// queue has room for, libmlx5 says.
void note(const QpRequest& request, ib_uverbs_query_qp_resp& known) {
  if (request.xrcd != nullptr) return;  // it has no queue, and what it says of one is not checked
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

// The firmware makes it, but for a target of DC, which it makes later.
int make(Context& context, const QpRequest& request, Qp& qp) {
  if (request.type == kDctType) {
    const mlx5_ib_create_qp& driver = request.driver;
    qp.dct =
        std::make_unique<DctRequest>(DctRequest{QpState::reset, driver.access_key, driver.uidx});
    return 0;
  }
  prm::Mailbox<prm::CreateQpIn> in;
  prm::Mailbox<prm::CreateQpOut> out;
  if (const int error = mailbox_of(request, in)) return error;
  const Uid uid = request.xrcd != nullptr ? XrcTargets::kUid : context.uid();
  const Result<void> done = run_command(context.device(), uid, prm::Opcode::create_qp, in, out);
  if (!done) return errno_of(done);
  qp.number = static_cast<QpNumber>(out.get(prm::CreateQpOut::qpn));
  if (request.xrcd != nullptr) {
    context.device().xrc_targets().add(qp.number, request.xrcd->number);
  }
  qp.uid = uid;
  qp.listener = {request.user_handle, nullptr, context.errors()};
  context.device().events().add_qp(qp.number, qp.listener);
  return 0;
}

}  // namespace

int create_qp(Context& context, Attributes& call) {
  QpRequest request;
  if (!call.has(UVERBS_ATTR_CREATE_QP_HANDLE)) return EINVAL;
  if (const int error = read_request(context, call, request)) return error;
  auto qp = std::make_unique<Qp>();
  if (const int error = make(context, request, *qp)) return error;
  const QpNumber number = qp->number;
  qp->type = request.type;
  qp->service = *service_of(request.type);
  qp->xrcd = Use<Xrcd>(request.xrcd);
  qp->pd = Use<Pd>(request.pd);
  qp->send_cq = Use<Cq>(request.send_cq);
  qp->receive_cq = Use<Cq>(request.receive_cq);
  qp->srq = Use<Srq>(request.srq);
  note(request, *qp->known);
  const std::uint32_t handle = context.handles().add(std::move(qp));
  int error = call.write(UVERBS_ATTR_CREATE_QP_RESP_CAP, request.capacity);
  if (error == 0) error = call.write(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, number);
  if (error == 0) error = call.write(UVERBS_ATTR_UHW_OUT, mlx5_ib_create_qp_resp{});
  if (error == 0) error = call.give_number(UVERBS_ATTR_CREATE_QP_HANDLE, handle);
  return made<Qp>(context, handle, error);
}

// A target of XRC that another client has made, or this one.
int open_qp(Context& context, Attributes& call) {
  ib_uverbs_open_qp request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  Xrcd* const xrcd = context.handles().find<Xrcd>(request.pd_handle);
  if (xrcd == nullptr || request.qp_type != IB_UVERBS_QPT_XRC_TGT) return EINVAL;
  Device& device = context.device();
  if (!device.xrc_targets().open(request.qpn, xrcd->number)) return EINVAL;
  auto qp = std::make_unique<Qp>();
  qp->number = request.qpn;
  qp->uid = XrcTargets::kUid;
  qp->listener = {request.user_handle, nullptr, context.errors()};
  device.events().add_qp(request.qpn, qp->listener);
  qp->type = IB_UVERBS_QPT_XRC_TGT;
  qp->service = ServiceType::xrc;
  qp->xrcd = Use<Xrcd>(xrcd);
  ib_uverbs_create_qp_resp answer{};
  answer.qpn = request.qpn;
  answer.qp_handle = context.handles().add(std::move(qp));
  return made<Qp>(context, answer.qp_handle, call.write(UVERBS_ATTR_CORE_OUT, answer));
}

int query_qp(Context& context, Attributes& call) {
  ib_uverbs_query_qp request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  const Qp* const qp = context.handles().find<Qp>(request.qp_handle);
  if (qp == nullptr) return EINVAL;
  if (qp->dct != nullptr) {
    ib_uverbs_query_qp_resp told{};
    if (const int error = query_dct(*qp, request.attr_mask, told)) return error;
    return call.write_bytes(UVERBS_ATTR_CORE_OUT, &told, sizeof told);
  }
  prm::Mailbox<prm::QueryQpIn> in;
  prm::Mailbox<prm::QueryQpOut> out;
  in.set(prm::QueryQpIn::qpn, qp->number);
  const Result<void> asked = run_command(context.device(), qp->uid, prm::Opcode::query_qp, in, out);
  if (!asked) return errno_of(asked);
  ib_uverbs_query_qp_resp& known = *qp->known;
  note(std::as_const(out).at(prm::QueryQpOut::qpc), known);
  return call.write_bytes(UVERBS_ATTR_CORE_OUT, &known, sizeof known);
}

int destroy_qp(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(UVERBS_ATTR_DESTROY_QP_HANDLE, handle)) return error;
  const Qp* const qp = context.handles().find<Qp>(handle);
  if (qp != nullptr && !qp->groups.empty()) return EBUSY;
  EventCounts told;
  if (const int error = destroy<Qp>(context, handle, &told)) return error;
  return call.write(UVERBS_ATTR_DESTROY_QP_RESP, ib_uverbs_destroy_qp_resp{told.errors});
}

}  // namespace gdakit::softnic::uverbs
