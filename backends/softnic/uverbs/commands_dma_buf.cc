// Memory regions that a dma-buf names, rather than addresses of the client.
#include <cerrno>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <utility>

#include "backends/softnic/uverbs/client_memory.h"
#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/mr_values.h"

namespace gdakit::softnic::uverbs {
namespace {

// A kernel takes no other flags for them; where it lets a device reorder, this NIC need not.
constexpr std::uint32_t kKnownAccess =
    IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |
    IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_RELAXED_ORDERING;

constexpr std::uint64_t kInPage = 4095;

struct Request {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t iova = 0;
  std::uint32_t access = 0;
  std::int32_t file = 0;
};

int read_request(const Attributes& call, Request& request) {
  int error = call.read(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, request.offset);
  if (error == 0) error = call.read(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, request.length);
  if (error == 0) error = call.read(UVERBS_ATTR_REG_DMABUF_MR_IOVA, request.iova);
  if (error == 0 && ((request.offset ^ request.iova) & kInPage) != 0) error = EINVAL;
  if (error == 0) error = call.read(UVERBS_ATTR_REG_DMABUF_MR_FD, request.file);
  if (error == 0) {
    error = call.flags(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, kKnownAccess, request.access);
  }
  if (error == 0) error = check_access(request.access);
  if (error == 0 && !call.has(UVERBS_ATTR_REG_DMABUF_MR_HANDLE)) error = EINVAL;
  return error;
}

}  // namespace

int reg_dma_buf_mr(Context& context, Attributes& call) {
  Request request;
  Pd* pd = nullptr;
  if (const int error = find_object(context, call, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd)) {
    return error;
  }
  if (const int error = read_request(call, request)) return error;
  MemoryRange memory;
  if (const int error =
          take_dma_buf(context.device(), request.file, request.offset, request.length, memory)) {
    return error;
  }
  MrAttributes attributes;
  attributes.pd = pd->number;
  attributes.base = memory.base;
  attributes.length = memory.length;
  attributes.start = request.iova;
  attributes.access = access_of(request.access);
  const Result<MemoryKey> key = context.nic().reg_mr(attributes, context.uid());
  if (!key) return errno_of(key.error());
  auto mr = std::make_unique<Mr>();
  mr->pd = Use<Pd>(pd);
  mr->key = *key;
  mr->attributes = attributes;
  mr->place = {plain_address(memory.base), memory.length, request.iova};
  mr->access = request.access;
  const std::uint32_t handle = context.handles().add(std::move(mr));
  int error = call.write(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, *key);
  if (error == 0) error = call.write(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, *key);
  if (error == 0) error = call.give_number(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, handle);
  return made<Mr>(context, handle, error);
}

}  // namespace gdakit::softnic::uverbs
