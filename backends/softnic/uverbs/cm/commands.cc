#include "backends/softnic/uverbs/cm/commands.h"

#include <array>
#include <cerrno>
#include <rdma/rdma_user_cm.h>

#include "backends/softnic/uverbs/cm/command_input.h"
#include "backends/softnic/uverbs/user_memory.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

// By the command's number.
constexpr std::array<Handler, RDMA_USER_CM_CMD_JOIN_MCAST + 1> kHandlers = {
    create_id,  destroy_id, bind_ip,      resolve_ip,      resolve_route, query_route,
    connect,    listen,     accept,       reject,          disconnect,    init_qp_attr,
    get_event,  nullptr,    set_option,   notify,          join_ip,       leave,
    migrate_id, query,      bind_address, resolve_address, join_address,
};

}  // namespace

int write_command(const Caller& caller, std::uint64_t bytes, std::size_t size) {
  rdma_ucm_cmd_hdr header;
  if (size < sizeof header) return EINVAL;
  if (const int error = read_user(&header, bytes, sizeof header)) return error;
  if (header.cmd >= kHandlers.size() || header.in + sizeof header > size) return EINVAL;
  const Handler handler = kHandlers[header.cmd];
  return handler == nullptr ? ENOSYS
                            : handler(caller, {bytes + sizeof header, header.in, header.out});
}

}  // namespace gdakit::softnic::uverbs::cm
