// Commands of rdma_cm that make identifiers, bind and resolve them, and ask about them.
#include <cerrno>
#include <cstddef>
#include <optional>
#include <rdma/rdma_user_cm.h>
#include <vector>

#include "backends/softnic/uverbs/cm/command_input.h"
#include "backends/softnic/uverbs/cm/commands_query.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

int resolve(const Caller& caller, std::uint32_t id, bool has_source,
            const std::optional<IpPort>& source, const std::optional<IpPort>& destination) {
  if ((has_source && !source) || !destination) return EINVAL;
  return caller.manager.resolve_address(*caller.file, id, has_source ? *source : IpPort{},
                                        *destination);
}

}  // namespace

int create_id(const Caller& caller, const Input& in) {
  rdma_ucm_create_id command;
  if (const int error = read_command(in, command)) return error;
  QpKind kind = QpKind::ud;
  const auto space = static_cast<PortSpace>(command.ps);
  switch (space) {
    case PortSpace::tcp: kind = QpKind::rc; break;
    case PortSpace::udp:
    case PortSpace::ipoib: break;
    case PortSpace::ib:
      kind = static_cast<QpKind>(command.qp_type);
      if (kind != QpKind::rc && kind != QpKind::uc && kind != QpKind::ud) return EINVAL;
      break;
    default: return EINVAL;
  }
  if (const int error = expect_answer<rdma_ucm_create_id_resp>(in, command.response)) return error;
  rdma_ucm_create_id_resp answer{};
  if (const int error =
          caller.manager.create_id(caller.file, command.uid, space, kind, answer.id)) {
    return error;
  }
  return write_answer(in, command.response, answer);
}

int destroy_id(const Caller& caller, const Input& in) {
  rdma_ucm_destroy_id command;
  if (const int error = read_command(in, command)) return error;
  if (const int error = expect_answer<rdma_ucm_destroy_id_resp>(in, command.response)) return error;
  rdma_ucm_destroy_id_resp answer{};
  if (const int error =
          caller.manager.destroy_id(*caller.file, command.id, answer.events_reported)) {
    return error;
  }
  return write_answer(in, command.response, answer);
}

int bind_ip(const Caller& caller, const Input& in) {
  rdma_ucm_bind_ip command;
  if (const int error = read_command(in, command)) return error;
  const auto address = address_in(command.addr);
  return address ? caller.manager.bind(*caller.file, command.id, *address) : EINVAL;
}

int bind_address(const Caller& caller, const Input& in) {
  rdma_ucm_bind command;
  if (const int error = read_command(in, command)) return error;
  const auto address = address_in(command.addr, command.addr_size);
  return address ? caller.manager.bind(*caller.file, command.id, *address) : EINVAL;
}

int resolve_ip(const Caller& caller, const Input& in) {
  rdma_ucm_resolve_ip command;
  if (const int error = read_command(in, command)) return error;
  return resolve(caller, command.id, is_given(command.src_addr), address_in(command.src_addr),
                 address_in(command.dst_addr));
}

int resolve_address(const Caller& caller, const Input& in) {
  rdma_ucm_resolve_addr command;
  if (const int error = read_command(in, command)) return error;
  return resolve(caller, command.id, command.src_size != 0 && is_given(command.src_addr),
                 address_in(command.src_addr, command.src_size),
                 address_in(command.dst_addr, command.dst_size));
}

int resolve_route(const Caller& caller, const Input& in) {
  rdma_ucm_resolve_route command;
  if (const int error = read_command(in, command)) return error;
  return caller.manager.resolve_route(*caller.file, command.id);
}

int query_route(const Caller& caller, const Input& in) {
  rdma_ucm_query command;
  if (const int error = read_command(in, command)) return error;
  IdState state;
  if (const int error = caller.manager.query(*caller.file, command.id, state)) return error;
  if (in.room < offsetof(rdma_ucm_query_route_resp, ibdev_index)) return ENOSPC;
  return write_answer(in, command.response, route_of(caller.manager.spec(), state));
}

int query(const Caller& caller, const Input& in) {
  rdma_ucm_query command;
  if (const int error = read_command(in, command)) return error;
  IdState state;
  if (const int error = caller.manager.query(*caller.file, command.id, state)) return error;
  const Spec& spec = caller.manager.spec();
  if (command.option == RDMA_USER_CM_QUERY_PATH) {
    const std::vector<std::uint8_t> paths = paths_of(state);
    if (in.room < sizeof(rdma_ucm_query_path_resp)) return ENOSPC;
    return write_user(command.response, paths.data(), std::min(in.room, paths.size()));
  }
  if (in.room < offsetof(rdma_ucm_query_addr_resp, ibdev_index)) return ENOSPC;
  if (command.option == RDMA_USER_CM_QUERY_ADDR) {
    return write_answer(in, command.response, addresses_of(spec, state));
  }
  if (command.option != RDMA_USER_CM_QUERY_GID) return ENOSYS;
  return write_answer(in, command.response, gids_of(spec, state));
}

// Ports are free as soon as nobody has them, and addresses are of one family each: those two
// options change nothing.
int set_option(const Caller& caller, const Input& in) {
  rdma_ucm_set_option command;
  if (const int error = read_command(in, command)) return error;
  if (command.level != RDMA_OPTION_ID) return ENOSYS;
  int number = 0;
  std::uint8_t byte = 0;
  switch (command.optname) {
    case RDMA_OPTION_ID_TOS:
    case RDMA_OPTION_ID_ACK_TIMEOUT: {
      if (command.optlen != sizeof byte) return EINVAL;
      if (const int error = read_user(&byte, command.optval, sizeof byte)) return error;
      if (command.optname == RDMA_OPTION_ID_TOS) {
        return caller.manager.set_type_of_service(*caller.file, command.id, byte);
      }
      constexpr std::uint8_t kMost = 31;
      if (byte > kMost) return EINVAL;
      return caller.manager.set_ack_timeout(*caller.file, command.id, byte);
    }
    case RDMA_OPTION_ID_REUSEADDR:
    case RDMA_OPTION_ID_AFONLY: {
      if (command.optlen != sizeof number) return EINVAL;
      if (const int error = read_user(&number, command.optval, sizeof number)) return error;
      IdState state;
      return caller.manager.query(*caller.file, command.id, state);
    }
    default: return ENOSYS;
  }
}

int migrate_id(const Caller& caller, const Input& in) {
  rdma_ucm_migrate_id command;
  if (const int error = read_command(in, command)) return error;
  if (const int error = expect_answer<rdma_ucm_migrate_resp>(in, command.response)) return error;
  const std::shared_ptr<File> from = caller.file_of(static_cast<int>(command.fd));
  if (!from) return EINVAL;
  rdma_ucm_migrate_resp answer{};
  if (const int error =
          caller.manager.migrate(*from, caller.file, command.id, answer.events_reported)) {
    return error;
  }
  return write_answer(in, command.response, answer);
}

}  // namespace gdakit::softnic::uverbs::cm
