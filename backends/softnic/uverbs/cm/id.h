// An identifier: what a program makes by rdma_create_id, binds, listens with and connects, or gets
// with a request.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/softnic/uverbs/cm/connection.h"
#include "backends/softnic/uverbs/cm/file.h"
#include "backends/softnic/uverbs/cm/ip_port.h"
#include "backends/softnic/uverbs/cm/port_names.h"
#include "core/base/kept_file.h"

namespace gdakit::softnic::uverbs::cm {

class Manager;

// enum ib_qp_type of those that the connection manager knows.
enum class QpKind : std::uint8_t { rc = 2, uc = 3, ud = 4 };

inline constexpr std::uint32_t kUdpQkey = 0x01234567;  // of all datagrams that come by IP

// The manager's, which alone calls it and changes it.
struct Id final : Connection::Owner, std::enable_shared_from_this<Id> {
  enum class State { idle, bound, address_resolved, route_resolved, listening, connecting };

  Id(Manager& whose, std::uint32_t number) : manager(whose), handle(number) {}

  bool is_datagram() const { return kind == QpKind::ud; }

  void send(const Message& message) override;
  void happened(EventKind what, int status, const Message* message) override;

  Manager& manager;
  const std::uint32_t handle;
  std::shared_ptr<File> file;  // null: the program has no use for it any more
  std::uint64_t uid = 0;       // 0: the program does not know it yet, and is told nothing
  PortSpace space = PortSpace::tcp;
  QpKind kind = QpKind::rc;
  State state = State::idle;
  std::uint32_t events_reported = 0;

  IpPort source, destination;
  int nic = -1;  // -1: none, or any
  Way way;
  std::uint8_t type_of_service = 0;
  std::optional<std::uint8_t> ack_timeout;  // as the program wants it
  std::optional<KeptFile> port;

  // Of one that listens.
  std::vector<KeptFile> listened;
  int backlog = 0;  // how many requests may yet come before the program fetches one

  std::vector<std::shared_ptr<Group>> groups;

  std::optional<Connection> connection;
  // Who may answer: one, but for a request to another host.
  std::set<Endpoint> peers;
  std::string peer_name;           // of a peer on this host, as its NIC is listed
  std::uint32_t peer_request = 0;  // of one that was asked: the number that the peer gave
};

}  // namespace gdakit::softnic::uverbs::cm
