// Shared receive queues.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <utility>

#include "backends/softnic/firmware/srq_mailbox.h"
#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/firmware_call.h"
#include "backends/softnic/uverbs/limits.h"
#include "backends/softnic/uverbs/user_memory.h"
#include "core/format/prm/rmp.h"
#include "core/format/prm/srq.h"
#include "core/format/srq.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::uint32_t kSegmentBytes = 16;  // of a WQE: the link to the next, or a data segment
constexpr std::uint32_t kLeastWqeBytes = 32;

// Of enum ibv_srq_attr_mask, which the uapi does not have.
constexpr std::uint32_t kLimit = 2;

struct SrqRequest {
  std::uint64_t user_handle = 0;
  std::uint32_t type = 0;
  std::uint32_t max_wr = 0;
  std::uint32_t max_sge = 0;
  std::uint32_t limit = 0;
  mlx5_ib_create_srq driver{};
  Pd* pd = nullptr;
  // Of one of XRC.
  Xrcd* xrcd = nullptr;
  Cq* cq = nullptr;
};

int find_xrc_objects(Context& context, const Attributes& call, SrqRequest& request) {
  if (const int error =
          find_object(context, call, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, request.xrcd)) {
    return error;
  }
  return find_object(context, call, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, request.cq);
}

int read_request(Context& context, const Attributes& call, SrqRequest& request) {
  if (const int error = find_object(context, call, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, request.pd)) {
    return error;
  }
  if (const int error = call.read(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, request.user_handle)) {
    return error;
  }
  if (const int error = call.read_known(UVERBS_ATTR_CREATE_SRQ_TYPE, request.type)) return error;
  if (const int error = call.read(UVERBS_ATTR_CREATE_SRQ_MAX_WR, request.max_wr)) return error;
  if (const int error = call.read(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, request.max_sge)) return error;
  if (const int error = call.read_known(UVERBS_ATTR_CREATE_SRQ_LIMIT, request.limit)) return error;
  if (const int error = call.read_known(UVERBS_ATTR_UHW_IN, request.driver)) return error;
  const bool is_xrc = request.type == IB_UVERBS_SRQT_XRC;
  if (!is_xrc && request.type != IB_UVERBS_SRQT_BASIC) return EOPNOTSUPP;
  if (is_xrc) {
    if (const int error = find_xrc_objects(context, call, request)) return error;
  }
  const bool good = request.max_wr <= kMostSrqWqes && request.max_sge <= kMostSrqSges &&
                    request.limit <= request.max_wr &&
                    request.driver.db_addr % sizeof(format::SrqDoorbellRecord) == 0;
  return good ? 0 : EINVAL;
}

// Of a queue whose WQEs are a list.
std::uint32_t stride_of(const SrqRequest& request) {
  return std::max(kLeastWqeBytes, std::bit_ceil(kSegmentBytes * (1 + request.max_sge)));
}

int pin_memory(const SrqRequest& request) {
  const std::uint64_t bytes = std::uint64_t{stride_of(request)} << std::bit_width(request.max_wr);
  if (const int error = pin(request.driver.buf_addr, bytes, /*writable=*/false)) return error;
  return pin(request.driver.db_addr, sizeof(format::SrqDoorbellRecord), /*writable=*/false);
}

void describe(const SrqRequest& request, prm::Mailbox<prm::CreateRmpIn>& in) {
  using prm::Wq;
  const auto context = in.at(prm::CreateRmpIn::rmp_context);
  context.set(prm::Rmpc::state, static_cast<std::uint64_t>(prm::RmpState::ready));
  const auto wq = context.at(prm::Rmpc::wq);
  wq.set(Wq::wq_type, static_cast<std::uint64_t>(prm::WqType::list));
  wq.set(Wq::lwm, request.limit);
  wq.set(Wq::pd, request.pd->number);
  wq.set(Wq::log_wq_stride, static_cast<std::uint64_t>(std::countr_zero(stride_of(request))));
  wq.set(Wq::log_wq_sz, static_cast<std::uint64_t>(std::bit_width(request.max_wr)));
  wq.set(Wq::dbr_addr, request.driver.db_addr);
  wq.set(Wq::wq_umem_offset, request.driver.buf_addr);
}

// A pool of the firmware's.
Result<SrqNumber> make_pool(Context& context, const SrqRequest& request) {
  prm::Mailbox<prm::CreateRmpIn> in;
  prm::Mailbox<prm::CreateRmpOut> out;
  describe(request, in);
  const Result<void> done = run_command(context, prm::Opcode::create_rmp, in, out);
  if (!done) return done.error();
  return static_cast<SrqNumber>(out.get(prm::CreateRmpOut::rmpn));
}

void describe(const SrqRequest& request, prm::Mailbox<CreateSrqAtIn>& in) {
  using prm::XrcSrqc;
  const auto context = in.at(prm::CreateXrcSrqIn::xrc_srq_context_entry);
  context.set(XrcSrqc::log_xrc_srq_size,
              static_cast<std::uint64_t>(std::bit_width(request.max_wr)));
  context.set(XrcSrqc::log_rq_stride,
              static_cast<std::uint64_t>(std::countr_zero(stride_of(request))) - 4);
  context.set(XrcSrqc::xrcd, request.xrcd->number);
  context.set(XrcSrqc::cqn, request.cq->number);
  context.set(XrcSrqc::user_index, request.driver.uidx & kMostNumber);
  context.set(XrcSrqc::pd, request.pd->number);
  context.set(XrcSrqc::lwm, request.limit);
  context.set(XrcSrqc::db_record_addr_h, request.driver.db_addr >> 32);
  context.set(XrcSrqc::db_record_addr_l, (request.driver.db_addr & 0xffffffff) >> 2);
  in.set(CreateSrqAtIn::wqes, request.driver.buf_addr);
}

Result<SrqNumber> make_xrc(Context& context, const SrqRequest& request) {
  prm::Mailbox<CreateSrqAtIn> in;
  prm::Mailbox<prm::CreateXrcSrqOut> out;
  describe(request, in);
  const Result<void> done = run_command(context, prm::Opcode::create_xrc_srq, in, out);
  if (!done) return done.error();
  return static_cast<SrqNumber>(out.get(prm::CreateXrcSrqOut::xrc_srqn));
}

Result<void> arm_xrc(Context& context, SrqNumber srq, std::uint32_t limit) {
  prm::Mailbox<prm::ArmXrcSrqIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::MboxIn::op_mod, prm::kArmSrq);
  in.set(prm::ArmXrcSrqIn::xrc_srqn, srq);
  in.set(prm::ArmXrcSrqIn::lwm, limit);
  return run_command(context, prm::Opcode::arm_xrc_srq, in, out);
}

Result<void> arm_pool(Context& context, SrqNumber pool, std::uint32_t limit) {
  prm::Mailbox<prm::ModifyRmpIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::ModifyRmpIn::rmp_state, static_cast<std::uint64_t>(prm::RmpState::ready));
  in.set(prm::ModifyRmpIn::rmpn, pool);
  in.at(prm::ModifyRmpIn::bitmask).back() = prm::kRmpBitmaskLwm;
  in.at(prm::ModifyRmpIn::ctx).at(prm::Rmpc::wq).set(prm::Wq::lwm, limit);
  return run_command(context, prm::Opcode::modify_rmp, in, out);
}

// The limit that is armed; 0: none.
Result<std::uint32_t> limit_of(Context& context, const Srq& srq) {
  prm::Mailbox<ObjectIn> in;
  in.set(ObjectIn::number, srq.number);
  if (srq.xrcd.get() != nullptr) {
    prm::Mailbox<prm::QueryXrcSrqOut> out;
    const Result<void> done = run_command(context, prm::Opcode::query_xrc_srq, in, out);
    if (!done) return done.error();
    const auto limit = out.at(prm::QueryXrcSrqOut::xrc_srq_context_entry).get(prm::XrcSrqc::lwm);
    return static_cast<std::uint32_t>(limit);
  }
  prm::Mailbox<prm::QueryRmpOut> out;
  const Result<void> done = run_command(context, prm::Opcode::query_rmp, in, out);
  if (!done) return done.error();
  const auto limit = out.at(prm::QueryRmpOut::rmp_context).at(prm::Rmpc::wq).get(prm::Wq::lwm);
  return static_cast<std::uint32_t>(limit);
}

}  // namespace

int create_srq(Context& context, Attributes& call) {
  SrqRequest request;
  if (!call.has(UVERBS_ATTR_CREATE_SRQ_HANDLE)) return EINVAL;
  if (const int error = read_request(context, call, request)) return error;
  if (const int error = pin_memory(request)) return error;
  const Result<SrqNumber> made_one =
      request.xrcd != nullptr ? make_xrc(context, request) : make_pool(context, request);
  if (!made_one) return errno_of(made_one.error());
  const SrqNumber number = *made_one;
  context.device().events().add_srq(number, {request.user_handle, nullptr, context.errors()});
  auto srq = std::make_unique<Srq>();
  srq->number = number;
  srq->pd = Use<Pd>(request.pd);
  srq->xrcd = Use<Xrcd>(request.xrcd);
  srq->cq = Use<Cq>(request.cq);
  srq->max_wr = (1u << std::bit_width(request.max_wr)) - 1;
  srq->max_sge = request.max_sge;
  const std::uint32_t max_wr = srq->max_wr;
  const std::uint32_t handle = context.handles().add(std::move(srq));
  int error = call.write(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, max_wr);
  if (error == 0) error = call.write(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, request.max_sge);
  if (error == 0) error = call.write(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, number);
  if (error == 0) error = call.write(UVERBS_ATTR_UHW_OUT, mlx5_ib_create_srq_resp{number, 0});
  if (error == 0) error = call.give_number(UVERBS_ATTR_CREATE_SRQ_HANDLE, handle);
  return made<Srq>(context, handle, error);
}

int modify_srq(Context& context, Attributes& call) {
  ib_uverbs_modify_srq request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  const Srq* const srq = context.handles().find<Srq>(request.srq_handle);
  // Its size cannot be changed.
  if (srq == nullptr || (request.attr_mask & ~kLimit) != 0) return EINVAL;
  if ((request.attr_mask & kLimit) == 0) return 0;
  if (request.srq_limit > srq->max_wr) return EINVAL;
  const bool is_xrc = srq->xrcd.get() != nullptr;
  return errno_of(is_xrc ? arm_xrc(context, srq->number, request.srq_limit)
                         : arm_pool(context, srq->number, request.srq_limit));
}

int query_srq(Context& context, Attributes& call) {
  ib_uverbs_query_srq request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  const Srq* const srq = context.handles().find<Srq>(request.srq_handle);
  if (srq == nullptr) return EINVAL;
  const Result<std::uint32_t> limit = limit_of(context, *srq);
  if (!limit) return errno_of(limit.error());
  ib_uverbs_query_srq_resp answer{};
  answer.max_wr = srq->max_wr;
  answer.max_sge = srq->max_sge;
  answer.srq_limit = *limit;
  return call.write(UVERBS_ATTR_CORE_OUT, answer);
}

int destroy_srq(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(UVERBS_ATTR_DESTROY_SRQ_HANDLE, handle)) return error;
  EventCounts told;
  if (const int error = destroy<Srq>(context, handle, &told)) return error;
  return call.write(UVERBS_ATTR_DESTROY_SRQ_RESP, ib_uverbs_destroy_srq_resp{told.errors});
}

}  // namespace gdakit::softnic::uverbs
