#include "tests/uverbs/hostile_cm.h"

#include <algorithm>
#include <cstring>
#include <rdma/rdma_user_cm.h>
#include <vector>

#include "tests/uverbs/caller.h"
#include "tests/uverbs/hostile_calls.h"

namespace gdakit::softnic::uverbs::cm::test {
namespace {

using uverbs::test::address_of;
using uverbs::test::hostile_memory;
using uverbs::test::kHostileBytes;
using uverbs::test::kNowhere;

constexpr PortSpace kSpaces[] = {PortSpace::tcp, PortSpace::tcp, PortSpace::udp, PortSpace::ipoib,
                                 PortSpace::ib};

}  // namespace

std::uint32_t HostileCm::id() {
  return rarely(24) ? input_.take<std::uint32_t>() : ids_[input_.below(ids_.size())];
}

// Where an answer goes.
std::uint64_t HostileCm::place() {
  const std::uint64_t begin = address_of(hostile_memory());
  if (rarely(24)) return kNowhere;
  if (rarely(24)) return begin + kHostileBytes - input_.below(64);
  return begin + 8 * input_.below(1024);
}

IpPort HostileCm::address() {
  IpPort address;
  address.port = static_cast<std::uint16_t>(rarely(6) ? 0 : kFirstPort + input_.below(kPorts));
  switch (input_.below(8)) {
    case 0: return address;
    case 1: address.ip[15] = 1; return address;
    case 2:
      address.ip[10] = address.ip[11] = 0xff;
      address.ip[12] = 239;
      address.ip[15] = static_cast<std::uint8_t>(input_.below(4));
      return address;
    case 3:
      for (std::uint8_t& byte : address.ip) byte = static_cast<std::uint8_t>(input_.below(256));
      return address;
    default: address.ip = ip_of_nic(manager_.spec(), rarely(3) ? 0 : 1);
  }
  return address;
}

// Returns its length.
template <class Sockaddr>
std::uint16_t HostileCm::put_address(Sockaddr& to) {
  const std::vector<std::uint8_t> bytes = sockaddr_of(address());
  std::memcpy(&to, bytes.data(), std::min(bytes.size(), sizeof to));
  if (rarely(16)) reinterpret_cast<std::uint8_t*>(&to)[0] = static_cast<std::uint8_t>(kAfIb);
  return static_cast<std::uint16_t>(rarely(16) ? input_.below(300) : bytes.size());
}

template <class Parameters>
void HostileCm::put_parameters(Parameters& to) {
  to.valid = rarely(6) ? 0 : 1;
  to.qp_num = input_.take<std::uint32_t>();
  to.qkey = input_.below(2);
  to.private_data_len = static_cast<std::uint8_t>(rarely(4) ? input_.below(256) : 8);
  to.responder_resources = to.initiator_depth = static_cast<std::uint8_t>(input_.below(256));
  to.retry_count = to.rnr_retry_count = static_cast<std::uint8_t>(input_.below(16));
}

// Mostly as it is; the whole is sometimes cut, or longer than it says.
template <class Command>
int HostileCm::write(std::uint32_t number, Command command, std::size_t room) {
  constexpr std::size_t kPlaceBytes = 8;  // it stands in front, where there is one
  if (sizeof command > kPlaceBytes && rarely(12)) {
    const std::size_t at = kPlaceBytes + input_.below(sizeof command - kPlaceBytes);
    const auto value = input_.take<std::uint64_t>();
    std::memcpy(reinterpret_cast<std::byte*>(&command) + at, &value,
                std::min(sizeof value, sizeof command - at));
  }
  const std::size_t bytes = rarely(24) ? input_.below(sizeof command + 1) : sizeof command;
  std::vector<std::uint8_t> written(sizeof(rdma_ucm_cmd_hdr) + bytes);
  const rdma_ucm_cmd_hdr header{number,
                                static_cast<std::uint16_t>(rarely(48) ? input_.below(512) : bytes),
                                static_cast<std::uint16_t>(rarely(24) ? input_.below(512) : room)};
  std::memcpy(written.data(), &header, sizeof header);
  std::memcpy(written.data() + sizeof header, &command, bytes);
  const std::size_t size =
      rarely(48) ? input_.below(static_cast<std::uint32_t>(written.size())) : written.size();
  const Caller caller{manager_, files_[rarely(16) ? 1 : 0], /*may_block=*/false,
                      [this](int file) { return file == 0 ? files_[0] : files_[1]; }};
  return write_command(caller, address_of(written.data()), size);
}

int HostileCm::create() {
  rdma_ucm_create_id_resp answer{};
  rdma_ucm_create_id command{};
  command.uid = 1 + input_.below(100);
  command.response = address_of(&answer);
  command.ps = static_cast<std::uint16_t>(kSpaces[input_.below(std::size(kSpaces))]);
  command.qp_type = static_cast<std::uint8_t>(2 + input_.below(3));
  const int error = write(RDMA_USER_CM_CMD_CREATE_ID, command, sizeof answer);
  if (error == 0) remember(answer.id);
  return error;
}

int HostileCm::bind() {
  if (rarely(3)) {
    rdma_ucm_bind_ip command{};
    put_address(command.addr);
    command.id = id();
    return write(RDMA_USER_CM_CMD_BIND_IP, command);
  }
  rdma_ucm_bind command{};
  command.id = id();
  command.addr_size = put_address(command.addr);
  return write(RDMA_USER_CM_CMD_BIND, command);
}

int HostileCm::resolve() {
  if (rarely(3)) {
    rdma_ucm_resolve_ip command{};
    if (rarely(4)) put_address(command.src_addr);
    put_address(command.dst_addr);
    command.id = called_ = id();
    return write(RDMA_USER_CM_CMD_RESOLVE_IP, command);
  }
  rdma_ucm_resolve_addr command{};
  command.id = called_ = id();
  if (rarely(4)) command.src_size = put_address(command.src_addr);
  command.dst_size = put_address(command.dst_addr);
  return write(RDMA_USER_CM_CMD_RESOLVE_ADDR, command);
}

int HostileCm::lead_on() {
  return write(RDMA_USER_CM_CMD_RESOLVE_ROUTE,
               rdma_ucm_resolve_route{rarely(3) ? id() : called_, input_.below(5000)});
}

int HostileCm::listen() {
  return write(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{id(), input_.below(4)});
}

int HostileCm::ask() {
  const std::uint64_t to = place();
  if (rarely(3)) {
    return write(RDMA_USER_CM_CMD_INIT_QP_ATTR, rdma_ucm_init_qp_attr{to, id(), input_.below(6)});
  }
  const rdma_ucm_query query{to, id(), input_.below(4)};
  return write(rarely(3) ? RDMA_USER_CM_CMD_QUERY_ROUTE : RDMA_USER_CM_CMD_QUERY, query);
}

int HostileCm::connect() {
  rdma_ucm_connect command{};
  command.id = rarely(3) ? id() : called_;
  put_parameters(command.conn_param);
  command.ece = {input_.take<std::uint32_t>(), input_.take<std::uint32_t>()};
  return write(RDMA_USER_CM_CMD_CONNECT, command);
}

int HostileCm::accept() {
  rdma_ucm_accept command{};
  command.uid = 1 + input_.below(100);
  command.id = rarely(3) ? id() : asked_;
  put_parameters(command.conn_param);
  return write(RDMA_USER_CM_CMD_ACCEPT, command);
}

int HostileCm::reject() {
  rdma_ucm_reject command{};
  command.id = id();
  command.private_data_len = static_cast<std::uint8_t>(rarely(4) ? input_.below(256) : 8);
  command.reason = static_cast<std::uint8_t>(rarely(8) ? input_.below(256) : 0);
  return write(RDMA_USER_CM_CMD_REJECT, command);
}

int HostileCm::end() {
  if (!rarely(3)) return write(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{id()});
  return write(RDMA_USER_CM_CMD_DESTROY_ID, rdma_ucm_destroy_id{place(), id(), 0});
}

int HostileCm::fetch() {
  rdma_ucm_event_resp answer{};
  const std::uint64_t to = rarely(16) ? place() : address_of(&answer);
  const int error = write(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{to}, sizeof answer);
  if (error != 0) return error;
  const auto kind = static_cast<EventKind>(answer.event);
  events_.insert(kind);
  if (kind == EventKind::connect_request) remember(asked_ = answer.id);
  return 0;
}

int HostileCm::set_option() {
  const std::uint32_t name = input_.below(6);
  const std::uint32_t bytes = rarely(8) ? input_.below(64) : (name == 1 || name == 2 ? 4 : 1);
  return write(RDMA_USER_CM_CMD_SET_OPTION,
               rdma_ucm_set_option{place(), id(), input_.below(8) / 7, name, bytes});
}

int HostileCm::notify() {
  return write(RDMA_USER_CM_CMD_NOTIFY, rdma_ucm_notify{id(), rarely(4) ? input_.below(32) : 4});
}

int HostileCm::join() {
  rdma_ucm_create_id_resp answer{};
  int error = 0;
  if (rarely(3)) {
    rdma_ucm_join_ip_mcast command{};
    command.response = address_of(&answer);
    put_address(command.addr);
    command.id = id();
    error = write(RDMA_USER_CM_CMD_JOIN_IP_MCAST, command, sizeof answer);
  } else {
    rdma_ucm_join_mcast command{};
    command.response = address_of(&answer);
    command.uid = 1 + input_.below(100);
    command.id = id();
    command.addr_size = put_address(command.addr);
    command.join_flags = static_cast<std::uint16_t>(input_.below(3));
    error = write(RDMA_USER_CM_CMD_JOIN_MCAST, command, sizeof answer);
  }
  if (error == 0) group_ = answer.id;
  return error;
}

int HostileCm::leave() {
  const std::uint32_t group = rarely(8) ? input_.below(8) : group_;
  return write(RDMA_USER_CM_CMD_LEAVE_MCAST, rdma_ucm_destroy_id{place(), group, 0});
}

int HostileCm::migrate() {
  return write(RDMA_USER_CM_CMD_MIGRATE_ID, rdma_ucm_migrate_id{place(), id(), input_.below(2)});
}

// Whatever there may be: a response first, an identifier behind it.
int HostileCm::any() {
  std::array<std::uint64_t, 64> words{};
  for (std::uint64_t& word : words) word = input_.below(8);
  words[0] = place();
  words[1] = id();
  return write(input_.below(32), words);
}

}  // namespace gdakit::softnic::uverbs::cm::test
