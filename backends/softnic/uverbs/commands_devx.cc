// Firmware commands that clients give by themselves (DEVX), and the objects that these make.
#include <cerrno>
#include <optional>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <utility>

#include "backends/softnic/uverbs/client_memory.h"
#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/devx_call.h"
#include "backends/softnic/uverbs/firmware_call.h"
#include "backends/softnic/uverbs/limits.h"
#include "backends/softnic/uverbs/not_armed.h"
#include "core/format/cq_doorbell.h"
#include "core/format/prm/cq.h"

namespace gdakit::softnic::uverbs {
namespace {

// The context of a CQ that is to be made, if it is one.
std::optional<prm::View<prm::Cqc>> cq_context(const DevxCall& command) {
  const bool makes_cq = command.opcode() == static_cast<std::uint64_t>(prm::Opcode::create_cq) &&
                        command.in().size() >= prm::CreateCqIn::kBytes;
  if (!makes_cq) return std::nullopt;
  return prm::View<prm::CreateCqIn>(command.in()).at(prm::CreateCqIn::cqc);
}

// An event queue that is none the kernel finds by itself, before the firmware does. Records that
// are nowhere are the firmware's to refuse.
int prepare_cq(const Context& context, const DevxCall& command, NotArmed& record) {
  const auto cq = cq_context(command);
  if (!cq) return 0;
  if (cq->get(prm::Cqc::c_eqn) != kCompletionEqn) return ENOENT;
  const std::uint64_t number = cq->get(prm::Cqc::dbr_umem_id);
  const std::uint64_t offset = cq->get(prm::Cqc::dbr_addr);
  const auto* const umem = context.handles().find_if<DevxUmem>(
      [number](const DevxUmem& one) { return one.number == number; });
  if (umem == nullptr || !umem->umem.writable) return 0;
  if (!umem->umem.holds(offset, sizeof(format::CqDoorbellRecord))) return 0;
  return record.put(umem->umem.memory.base + offset);
}

// Where the memory lies that is asked for: at an address, or, with a dma-buf, at an offset in that.
int place_umem(Context& context, const Attributes& call, const MemoryRange& wanted, Umem& umem) {
  constexpr std::uint16_t kDmaBuf = MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD;
  const std::uint64_t start = wanted.base.value;
  umem.memory.length = wanted.length;
  if (!call.has(kDmaBuf)) {
    return take_memory(context.device(), start, wanted.length, umem.writable, umem.memory.base);
  }
  std::uint32_t file = 0;
  if (const int error = call.number(kDmaBuf, file)) return error;
  return take_dma_buf(context.device(), static_cast<int>(file), start, wanted.length, umem.memory);
}

}  // namespace

int devx_other(Context& context, Attributes& call) {
  DevxCall command;
  if (const int error = command.read(context, call, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN)) return error;
  if (!is_general(command.opcode())) return EINVAL;
  return command.answer(context, call, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT);
}

// Of the pages of registers that come with a context; here each is allocated by itself.
int devx_query_uar(Context&, Attributes&) { return EINVAL; }

int devx_query_eqn(Context& context, Attributes& call) {
  std::uint32_t vector = 0;
  if (const int error = call.read(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, vector)) return error;
  if (!context.has_devx() || vector != 0) return EINVAL;
  return call.write(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, kCompletionEqn);
}

int devx_create(Context& context, Attributes& call) {
  constexpr std::uint16_t kHandle = MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE;
  constexpr std::uint16_t kOut = MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT;
  DevxCall command;
  if (const int error = command.read(context, call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN)) {
    return error;
  }
  // Clients then do without, as on a device of an older kernel.
  if (makes_what_is_absent(command.opcode())) return EOPNOTSUPP;
  const auto creation = creation_by(command.opcode());
  if (!creation || !call.has(kHandle)) return EINVAL;
  NotArmed record(context.device());
  if (const int error = prepare_cq(context, command, record)) return error;
  if (const int refused = command.execute(context, call.length(kOut))) {
    return command.give_answer(call, kOut, refused);
  }
  record.there_is_a_cq();
  auto object = std::make_unique<DevxObject>();
  const auto number = prm::View<ObjectOut>(command.out()).get(ObjectOut::number);
  object->name = {creation->kind, static_cast<std::uint32_t>(number)};
  object->destroy = creation->destroy;
  const std::uint32_t handle = context.handles().add(std::move(object));
  int error = command.give_answer(call, kOut, 0);
  if (error == 0) error = call.give_number(kHandle, handle);
  return made<DevxObject>(context, handle, error);
}

int devx_destroy(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, handle)) return error;
  return destroy<DevxObject>(context, handle);
}

int devx_modify(Context& context, Attributes& call) {
  DevxCall command;
  if (const int error = command.read(context, call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN)) {
    return error;
  }
  if (const int error =
          command.check_object(context, call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, changed_by)) {
    return error;
  }
  return command.answer(context, call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT);
}

int devx_query(Context& context, Attributes& call) {
  DevxCall command;
  if (const int error = command.read(context, call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN)) {
    return error;
  }
  if (const int error =
          command.check_object(context, call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, asked_by)) {
    return error;
  }
  return command.answer(context, call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT);
}

int register_umem(Context& context, Attributes& call) {
  constexpr std::uint16_t kHandle = MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE;
  std::uint64_t address = 0, length = 0;
  std::uint32_t access = 0;
  if (!context.has_devx() || !call.has(kHandle)) return EINVAL;
  if (const int error = call.read(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, address)) return error;
  if (const int error = call.read(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, length)) return error;
  constexpr std::uint32_t kKnownAccess =
      IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |
      IB_UVERBS_ACCESS_RELAXED_ORDERING;
  if (const int error = call.flags(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, kKnownAccess, access)) {
    return error;
  }
  const bool writable = (access & IB_UVERBS_ACCESS_LOCAL_WRITE) != 0;
  if ((access & IB_UVERBS_ACCESS_REMOTE_WRITE) != 0 && !writable) return EINVAL;
  if (length == 0) return EINVAL;
  auto umem = std::make_unique<DevxUmem>();
  umem->umem.uid = context.uid();
  umem->umem.writable = writable;
  if (const int error = place_umem(context, call, {{address}, length}, umem->umem)) return error;
  const bool by_address = !call.has(MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD);
  if (by_address && !context.device().locked().lock(address, length, umem->locked)) return ENOMEM;
  umem->number = context.device().add_umem(umem->umem);
  const UmemNumber number = umem->number;
  const std::uint32_t handle = context.handles().add(std::move(umem));
  int error = call.write(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, number);
  if (error == 0) error = call.give_number(kHandle, handle);
  return made<DevxUmem>(context, handle, error);
}

int deregister_umem(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, handle)) return error;
  return destroy<DevxUmem>(context, handle);
}

}  // namespace gdakit::softnic::uverbs
