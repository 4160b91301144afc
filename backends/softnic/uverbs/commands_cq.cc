// Completion queues and the channels on which they tell of completions.
#include <bit>
#include <cerrno>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <unistd.h>
#include <utility>

#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/firmware_call.h"
#include "backends/softnic/uverbs/limits.h"
#include "backends/softnic/uverbs/not_armed.h"
#include "backends/softnic/uverbs/user_memory.h"
#include "core/format/cq_doorbell.h"
#include "core/format/prm/cq.h"

namespace gdakit::softnic::uverbs {
namespace {

struct CqRequest {
  std::uint32_t cqe = 0;  // entries - 1
  std::uint64_t user_handle = 0;
  std::uint32_t vector = 0;
  std::uint32_t flags = 0;
  mlx5_ib_create_cq driver{};
};

constexpr std::uint32_t kTimeStamps = 1;  // IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION
constexpr std::uint32_t kIgnoreOverrun = 2;

bool is_cqe_size(std::uint32_t bytes) { return bytes == 64 || bytes == 128; }
CqeSize cqe_size_of(std::uint32_t bytes) {
  return bytes == 64 ? CqeSize::bytes_64 : CqeSize::bytes_128;
}

int read_request(const Attributes& call, CqRequest& request) {
  if (const int error = call.read(UVERBS_ATTR_CREATE_CQ_CQE, request.cqe)) return error;
  if (const int error = call.read(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, request.user_handle)) {
    return error;
  }
  if (const int error = call.read(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, request.vector)) return error;
  if (const int error = call.read_known(UVERBS_ATTR_CREATE_CQ_FLAGS, request.flags)) return error;
  if (const int error = call.read_known(UVERBS_ATTR_UHW_IN, request.driver)) return error;
  if (request.cqe == 0 || request.cqe > kMostCqes || request.vector != 0) return EINVAL;
  if ((request.flags & ~(kTimeStamps | kIgnoreOverrun)) != 0) return EOPNOTSUPP;
  return is_cqe_size(request.driver.cqe_size) ? 0 : EINVAL;
}

using CreateCq = prm::Mailbox<prm::CreateCqIn>;

int mailbox_of(const CqRequest& request, CreateCq& in) {
  using prm::Cqc;
  const mlx5_ib_create_cq& driver = request.driver;
  if ((driver.flags & MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX) == 0) return EOPNOTSUPP;
  const auto log_entries = static_cast<std::uint32_t>(std::bit_width(request.cqe));
  const auto context = in.at(prm::CreateCqIn::cqc);
  context.set(Cqc::cqe_sz, static_cast<std::uint64_t>(cqe_size_of(driver.cqe_size)));
  context.set(Cqc::oi, (request.flags & kIgnoreOverrun) != 0 ? 1 : 0);
  context.set(Cqc::log_cq_size, log_entries);
  context.set(Cqc::uar_page, driver.uar_page_index);
  context.set(Cqc::c_eqn, kCompletionEqn);
  context.set(Cqc::dbr_addr, driver.db_addr);
  in.set(prm::CreateCqIn::cq_umem_offset, driver.buf_addr);
  const std::uint64_t bytes = std::uint64_t{driver.cqe_size} << log_entries;
  if (const int error = pin(driver.buf_addr, bytes, /*writable=*/true)) return error;
  return pin(driver.db_addr, sizeof(format::CqDoorbellRecord), /*writable=*/true);
}

}  // namespace

int create_channel(Context& context, Attributes& call) {
  Result<std::shared_ptr<EventPipe>> pipe = EventPipe::open(sizeof(CompletionRecord));
  if (!pipe) return errno_of(pipe.error());
  const int file = (*pipe)->take_client_end();
  if (const int error = call.write(UVERBS_ATTR_CORE_OUT, static_cast<std::uint32_t>(file))) {
    ::close(file);
    return error;
  }
  context.add_channel(Context::ChannelOf::completions, file, std::move(*pipe));
  return 0;
}

int create_cq(Context& context, Attributes& call) {
  CqRequest request;
  CreateCq in;
  Listener listener;
  if (const int error = read_request(call, request)) return error;
  if (call.has(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL)) {
    std::uint32_t file = 0;
    if (const int error = call.number(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, file)) return error;
    listener.completions = context.channel(Context::ChannelOf::completions, static_cast<int>(file));
    if (listener.completions == nullptr) return EBADF;
  }
  if (!call.has(UVERBS_ATTR_CREATE_CQ_HANDLE)) return EINVAL;
  if (const int error = mailbox_of(request, in)) return error;
  NotArmed record(context.device());
  if (const int error = record.put({request.driver.db_addr})) return error;
  prm::Mailbox<prm::CreateCqOut> out;
  const Result<void> done = run_command(context, prm::Opcode::create_cq, in, out);
  if (!done) return errno_of(done);
  record.there_is_a_cq();
  const auto number = static_cast<CqNumber>(out.get(prm::CreateCqOut::cqn));
  listener.element = request.user_handle;
  listener.errors = context.errors();
  context.device().events().add_cq(number, std::move(listener));
  auto cq = std::make_unique<Cq>();
  cq->number = number;
  cq->entries = 1u << std::bit_width(request.cqe);
  const std::uint32_t entries_less_one = cq->entries - 1;
  const std::uint32_t handle = context.handles().add(std::move(cq));
  int error = call.write(UVERBS_ATTR_CREATE_CQ_RESP_CQE, entries_less_one);
  if (error == 0) error = call.write(UVERBS_ATTR_UHW_OUT, mlx5_ib_create_cq_resp{number, 0});
  if (error == 0) error = call.give_number(UVERBS_ATTR_CREATE_CQ_HANDLE, handle);
  return made<Cq>(context, handle, error);
}

int resize_cq(Context& context, Attributes& call) {
  ib_uverbs_resize_cq request{};
  mlx5_ib_resize_cq driver{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  Cq* const cq = context.handles().find<Cq>(request.cq_handle);
  if (cq == nullptr || request.cqe == 0 || request.cqe > kMostCqes) return EINVAL;
  CqResize to;
  to.log_entries = static_cast<std::uint32_t>(std::bit_width(request.cqe));
  const std::uint32_t entries = 1u << to.log_entries;
  if (entries != cq->entries) {
    if (const int error = call.read_known(UVERBS_ATTR_UHW_IN, driver)) return error;
    if (driver.reserved0 != 0 || driver.reserved1 != 0) return EINVAL;
    if (!is_cqe_size(driver.cqe_size)) return EINVAL;
    to.entries = {driver.buf_addr};
    to.cqe_size = cqe_size_of(driver.cqe_size);
    const std::uint64_t bytes = std::uint64_t{driver.cqe_size} * entries;
    if (const int error = pin(driver.buf_addr, bytes, /*writable=*/true)) return error;
    const Result<void> resized = context.device().resize_cq(cq->number, to, context.uid());
    if (!resized) return errno_of(resized);
    cq->entries = entries;
  }
  const std::uint32_t answer[] = {entries - 1, 0};  // ib_uverbs_resize_cq_resp
  return call.write(UVERBS_ATTR_CORE_OUT, answer);
}

int modify_cq(Context& context, Attributes& call) {
  constexpr std::uint32_t kModerate = 1;  // of enum ib_cq_attr_mask, which the uapi does not have
  ib_uverbs_ex_modify_cq request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  if (request.attr_mask == 0 || request.reserved != 0) return EINVAL;
  if ((request.attr_mask & ~kModerate) != 0) return EOPNOTSUPP;
  const Cq* const cq = context.handles().find<Cq>(request.cq_handle);
  if (cq == nullptr || request.attr.cq_period > kMostCqPeriodUs) return EINVAL;
  prm::Mailbox<prm::ModifyCqIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::ModifyCqIn::cqn, cq->number);
  in.set(prm::ModifyCqIn::modify_field_select_resize_field_select,
         prm::kCqPeriodField | prm::kCqMaxCountField);
  const auto cqc = in.at(prm::ModifyCqIn::cq_context);
  cqc.set(prm::Cqc::cq_period, request.attr.cq_period);
  cqc.set(prm::Cqc::cq_max_count, request.attr.cq_count);
  return errno_of(run_command(context, prm::Opcode::modify_cq, in, out));
}

int destroy_cq(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(UVERBS_ATTR_DESTROY_CQ_HANDLE, handle)) return error;
  EventCounts told;
  if (const int error = destroy<Cq>(context, handle, &told)) return error;
  return call.write(UVERBS_ATTR_DESTROY_CQ_RESP,
                    ib_uverbs_destroy_cq_resp{told.completions, told.errors});
}

}  // namespace gdakit::softnic::uverbs
