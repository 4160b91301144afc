#include "backends/softnic/uverbs/cm/commands.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <rdma/rdma_user_cm.h>
#include <span>
#include <vector>

#include "backends/softnic/uverbs/cm/commands_query.h"
#include "backends/softnic/uverbs/limits.h"
#include "backends/softnic/uverbs/user_memory.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

constexpr std::uint32_t kCommunicationEstablished = 4;  // enum ib_event_type
constexpr std::uint16_t kVendorOption = 35;             // a reason that a program may give
constexpr std::uint8_t kMostRetries = 7;

// A command as it stands in the program's memory, behind its header.
struct Input {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  std::size_t room = 0;  // for the answer
};

// What the program gives less of than there is, is zeros.
template <class Command>
int read_command(const Input& in, Command& command, std::size_t least = sizeof(Command)) {
  command = {};
  if (in.bytes < least) return EINVAL;
  return read_user(&command, in.address, std::min(in.bytes, sizeof command));
}

// Whether the answer can go there; before anything is done.
template <class Answer>
int expect_answer(const Input& in, std::uint64_t to, std::size_t least = sizeof(Answer)) {
  if (in.room < least) return ENOSPC;
  const Answer nothing{};
  return write_user(to, &nothing, std::min(in.room, sizeof nothing));
}

template <class Answer>
int write_answer(const Input& in, std::uint64_t to, const Answer& answer) {
  return write_user(to, &answer, std::min(in.room, sizeof answer));
}

template <class Sockaddr>
std::optional<IpPort> address_in(const Sockaddr& sockaddr, std::size_t bytes = sizeof(Sockaddr)) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(&sockaddr);
  return read_sockaddr({begin, std::min(bytes, sizeof sockaddr)});
}

// Where the program gives none, its family is 0.
template <class Sockaddr>
bool is_given(const Sockaddr& sockaddr) {
  std::uint16_t family = 0;
  std::memcpy(&family, &sockaddr, sizeof family);
  return family != 0;
}

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

int resolve(const Caller& caller, std::uint32_t id, bool has_source,
            const std::optional<IpPort>& source, const std::optional<IpPort>& destination) {
  if ((has_source && !source) || !destination) return EINVAL;
  return caller.manager.resolve_address(*caller.file, id, has_source ? *source : IpPort{},
                                        *destination);
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

// Numbers that messages have fewer bits for are cut, as the kernel does.
ConnectParameters parameters_of(const rdma_ucm_conn_param& from) {
  ConnectParameters to;
  to.qp.qpn = from.qp_num & kMostNumber;
  to.qp.qkey = from.qkey;
  to.qp.srq = from.srq != 0;
  to.qp.responder_resources = from.responder_resources;
  to.qp.initiator_depth = from.initiator_depth;
  to.qp.flow_control = from.flow_control != 0;
  to.qp.retry_count = std::min(from.retry_count, kMostRetries);
  to.qp.rnr_retry_count = std::min(from.rnr_retry_count, kMostRetries);
  to.private_data.assign(from.private_data, from.private_data + from.private_data_len);
  return to;
}

int connect(const Caller& caller, const Input& in) {
  rdma_ucm_connect command;
  if (const int error = read_command(in, command, offsetof(rdma_ucm_connect, ece))) return error;
  if (command.conn_param.valid == 0) return EINVAL;
  return caller.manager.connect(*caller.file, command.id, parameters_of(command.conn_param));
}

int listen(const Caller& caller, const Input& in) {
  rdma_ucm_listen command;
  if (const int error = read_command(in, command)) return error;
  return caller.manager.listen(*caller.file, command.id, command.backlog);
}

int accept(const Caller& caller, const Input& in) {
  rdma_ucm_accept command;
  if (const int error = read_command(in, command, offsetof(rdma_ucm_accept, ece))) return error;
  if (command.conn_param.valid == 0) return caller.manager.confirm(*caller.file, command.id);
  ConnectParameters parameters = parameters_of(command.conn_param);
  if (parameters.qp.qkey == 0) parameters.qp.qkey = kUdpQkey;
  return caller.manager.accept(*caller.file, command.id, command.uid, parameters);
}

int reject(const Caller& caller, const Input& in) {
  rdma_ucm_reject command;
  if (const int error = read_command(in, command)) return error;
  const std::uint16_t reason = command.reason == 0 ? kConsumerDefined : command.reason;
  if (reason != kConsumerDefined && reason != kVendorOption) return EINVAL;
  return caller.manager.reject(
      *caller.file, command.id, reason,
      {command.private_data, command.private_data + command.private_data_len});
}

int disconnect(const Caller& caller, const Input& in) {
  rdma_ucm_disconnect command;
  if (const int error = read_command(in, command)) return error;
  return caller.manager.disconnect(*caller.file, command.id);
}

int init_qp_attr(const Caller& caller, const Input& in) {
  rdma_ucm_init_qp_attr command;
  if (const int error = read_command(in, command)) return error;
  if (in.room < sizeof(ib_uverbs_qp_attr)) return ENOSPC;
  IdState state;
  if (const int error = caller.manager.query(*caller.file, command.id, state)) return error;
  ib_uverbs_qp_attr attributes;
  if (const int error = qp_attributes(caller.manager.spec(), state, command.qp_state, attributes)) {
    return error;
  }
  return write_answer(in, command.response, attributes);
}

rdma_ucm_event_resp answer_of(const Spec& spec, const Event& event) {
  rdma_ucm_event_resp answer{};
  answer.uid = event.uid;
  answer.id = event.handle;
  answer.event = static_cast<std::uint32_t>(event.kind);
  answer.status = static_cast<std::uint32_t>(event.status);
  const auto put_data = [&event](auto& to) {
    const std::size_t bytes = std::min(event.private_data.size(), sizeof to.private_data);
    std::copy_n(event.private_data.begin(), bytes, to.private_data);
    to.private_data_len = static_cast<std::uint8_t>(bytes);
  };
  if (event.is_datagram) {
    rdma_ucm_ud_param& ud = answer.param.ud;
    ud.qp_num = event.qp.qpn;
    ud.qkey = event.qp.qkey;
    if (event.nic >= 0) ud.ah_attr = address_handle(spec, event.nic, event.way);
    put_data(ud);
    return answer;
  }
  rdma_ucm_conn_param& conn = answer.param.conn;
  conn.qp_num = event.qp.qpn;
  conn.srq = event.qp.srq;
  conn.responder_resources = event.qp.responder_resources;
  conn.initiator_depth = event.qp.initiator_depth;
  conn.flow_control = event.qp.flow_control;
  conn.retry_count = event.qp.retry_count;
  conn.rnr_retry_count = event.qp.rnr_retry_count;
  put_data(conn);
  return answer;
}

int get_event(const Caller& caller, const Input& in) {
  rdma_ucm_get_event command;
  if (const int error = read_command(in, command)) return error;
  constexpr std::size_t kLeast = offsetof(rdma_ucm_event_resp, reserved);
  if (const int error = expect_answer<rdma_ucm_event_resp>(in, command.response, kLeast)) {
    return error;
  }
  while (true) {
    if (const auto event = caller.manager.next_event(*caller.file, caller.may_block)) {
      return write_answer(in, command.response, answer_of(caller.manager.spec(), *event));
    }
    if (!caller.may_block) return EAGAIN;
    if (const int error = caller.file->wait()) {
      caller.manager.has_not_waited(*caller.file);
      return error;
    }
  }
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

int notify(const Caller& caller, const Input& in) {
  rdma_ucm_notify command;
  if (const int error = read_command(in, command)) return error;
  if (command.event != kCommunicationEstablished) return EINVAL;
  return caller.manager.communication_established(*caller.file, command.id);
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

int not_there(const Caller&, const Input&) { return EOPNOTSUPP; }

using Handler = int (*)(const Caller& caller, const Input& in);

// By the command's number.
constexpr std::array<Handler, RDMA_USER_CM_CMD_JOIN_MCAST + 1> kHandlers = {
    create_id,  destroy_id, bind_ip,      resolve_ip,      resolve_route, query_route,
    connect,    listen,     accept,       reject,          disconnect,    init_qp_attr,
    get_event,  nullptr,    set_option,   notify,          not_there,     not_there,
    migrate_id, query,      bind_address, resolve_address, not_there,
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
