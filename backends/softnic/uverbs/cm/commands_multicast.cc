// Commands of rdma_cm that join multicast groups, and leave them.
#include <cerrno>
#include <optional>
#include <rdma/rdma_user_cm.h>

#include "backends/softnic/uverbs/cm/command_input.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

template <class Command>
int join(const Caller& caller, const Input& in, const Command& command,
         const std::optional<IpPort>& address) {
  if (!address) return EINVAL;
  if (const int error = expect_answer<rdma_ucm_create_id_resp>(in, command.response)) return error;
  rdma_ucm_create_id_resp answer{};
  if (const int error =
          caller.manager.join(*caller.file, command.id, command.uid, *address, answer.id)) {
    return error;
  }
  return write_answer(in, command.response, answer);
}

}  // namespace

int join_ip(const Caller& caller, const Input& in) {
  rdma_ucm_join_ip_mcast command;
  if (const int error = read_command(in, command)) return error;
  return join(caller, in, command, address_in(command.addr));
}

// Who only sends is in the group, too.
int join_address(const Caller& caller, const Input& in) {
  rdma_ucm_join_mcast command;
  if (const int error = read_command(in, command)) return error;
  if (command.join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return EINVAL;
  return join(caller, in, command, address_in(command.addr, command.addr_size));
}

int leave(const Caller& caller, const Input& in) {
  rdma_ucm_destroy_id command;
  if (const int error = read_command(in, command)) return error;
  if (const int error = expect_answer<rdma_ucm_destroy_id_resp>(in, command.response)) return error;
  rdma_ucm_destroy_id_resp answer{};
  if (const int error = caller.manager.leave(*caller.file, command.id, answer.events_reported)) {
    return error;
  }
  return write_answer(in, command.response, answer);
}

}  // namespace gdakit::softnic::uverbs::cm
