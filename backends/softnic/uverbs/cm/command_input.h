// What the handlers of rdma_cm's commands share: where a command stands, and where its answer goes.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "backends/softnic/uverbs/cm/commands.h"
#include "backends/softnic/uverbs/cm/ip_port.h"
#include "backends/softnic/uverbs/user_memory.h"

namespace gdakit::softnic::uverbs::cm {

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

using Handler = int (*)(const Caller& caller, const Input& in);

// commands_address.cc
int create_id(const Caller& caller, const Input& in);
int destroy_id(const Caller& caller, const Input& in);
int bind_ip(const Caller& caller, const Input& in);
int bind_address(const Caller& caller, const Input& in);
int resolve_ip(const Caller& caller, const Input& in);
int resolve_address(const Caller& caller, const Input& in);
int resolve_route(const Caller& caller, const Input& in);
int query_route(const Caller& caller, const Input& in);
int query(const Caller& caller, const Input& in);
int set_option(const Caller& caller, const Input& in);
int migrate_id(const Caller& caller, const Input& in);

// commands_connect.cc
int connect(const Caller& caller, const Input& in);
int listen(const Caller& caller, const Input& in);
int accept(const Caller& caller, const Input& in);
int reject(const Caller& caller, const Input& in);
int disconnect(const Caller& caller, const Input& in);
int init_qp_attr(const Caller& caller, const Input& in);
int notify(const Caller& caller, const Input& in);

// commands_multicast.cc
int join_ip(const Caller& caller, const Input& in);
int join_address(const Caller& caller, const Input& in);
int leave(const Caller& caller, const Input& in);

// commands_event.cc
int get_event(const Caller& caller, const Input& in);

}  // namespace gdakit::softnic::uverbs::cm
