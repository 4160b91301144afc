// XRC domains: opened by a file that stands for one, or without.
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <utility>

#include "backends/softnic/uverbs/commands.h"

namespace gdakit::softnic::uverbs {

int open_xrcd(Context& context, Attributes& call) {
  ib_uverbs_open_xrcd request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  Device& device = context.device();
  auto xrcd = std::make_unique<Xrcd>();
  if (const int error = device.xrc_domains().open(device, static_cast<int>(request.fd),
                                                  request.oflags, xrcd->number)) {
    return error;
  }
  const std::uint32_t handle = context.handles().add(std::move(xrcd));
  return made<Xrcd>(context, handle,
                    call.write(UVERBS_ATTR_CORE_OUT, ib_uverbs_open_xrcd_resp{handle}));
}

int close_xrcd(Context& context, Attributes& call) {
  std::uint32_t handle = 0;
  if (const int error = call.number(UVERBS_ATTR_DESTROY_XRCD_HANDLE, handle)) return error;
  return destroy<Xrcd>(context, handle);
}

int close_xrcd_write(Context& context, Attributes& call) {
  ib_uverbs_close_xrcd request{};
  if (const int error = call.read(UVERBS_ATTR_CORE_IN, request)) return error;
  return destroy<Xrcd>(context, request.xrcd_handle);
}

}  // namespace gdakit::softnic::uverbs
