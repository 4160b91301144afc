// The connection manager of a process, as the kernel's: identifiers, listeners and connections.
//
//   rdma_cm's commands --> Manager --> Connection (one for each identifier)
//                            |  ^            |
//                 events to File  \--- MadPort of each NIC ---> other managers
//
// What managers say to each other are the specification's messages (mads.h), as datagrams to a
// queue pair of the NIC's own (mad_wire.h): so they meet with the faults of the wire, are in
// captures, and reach other hosts. Ports are names of the fabric (port_names.h), by which a request
// finds the place of who listens. Which place of another host listens is not known here: the
// request goes to all of them, and who has that port answers.
//
// A thread hears what comes, sends again what is not answered, and looks four times a second
// whether the processes of peers on this host still are, while there are any. Otherwise it sleeps.
// Calls may come from any thread; they are short. Those that return int return 0, or an errno value
// and have changed nothing.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "backends/softnic/uverbs/cm/file.h"
#include "backends/softnic/uverbs/cm/id.h"
#include "backends/softnic/uverbs/cm/message.h"
#include "backends/softnic/uverbs/cm/port_names.h"
#include "backends/softnic/uverbs/device.h"
#include "backends/softnic/uverbs/spec.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs::cm {

// What a program says of its queue pair when it connects or accepts.
struct ConnectParameters {
  QpSide qp;
  Ece ece;
  std::vector<std::uint8_t> private_data;
};

// What a program may ask of an identifier.
struct IdState {
  Id::State state{};
  QpKind kind{};
  IpPort source, destination;
  int nic = -1;
  Way way;
  std::optional<Agreed> agreed;  // once there is a connection
};

class Manager {
 public:
  using OpenNic = std::function<Result<Device*>(int index)>;

  // NICs are opened when they are needed, and outlive the manager.
  Manager(const Spec& spec, OpenNic open_nic);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  const Spec& spec() const { return spec_; }

  int create_id(const std::shared_ptr<File>& file, std::uint64_t uid, PortSpace space, QpKind kind,
                std::uint32_t& handle);
  // What is behind a file's handle.
  int destroy_id(const File& file, std::uint32_t handle, std::uint32_t& events_reported);
  int query(const File& file, std::uint32_t handle, IdState& state);
  int bind(const File& file, std::uint32_t handle, const IpPort& address);
  // `source`: 0.0.0.0, port 0, where the program does not say.
  int resolve_address(const File& file, std::uint32_t handle, const IpPort& source,
                      const IpPort& destination);
  int resolve_route(const File& file, std::uint32_t handle);
  int set_type_of_service(const File& file, std::uint32_t handle, std::uint8_t value);
  int set_ack_timeout(const File& file, std::uint32_t handle, std::uint8_t value);
  int listen(const File& file, std::uint32_t handle, std::uint32_t backlog);
  int connect(const File& file, std::uint32_t handle, const ConnectParameters& parameters);
  // Of a request.
  int accept(const File& file, std::uint32_t handle, std::uint64_t uid,
             const ConnectParameters& parameters);
  // Of an answer to one.
  int confirm(const File& file, std::uint32_t handle);
  int reject(const File& file, std::uint32_t handle, std::uint16_t reason,
             const std::vector<std::uint8_t>& private_data);
  int disconnect(const File& file, std::uint32_t handle);
  int communication_established(const File& file, std::uint32_t handle);
  // Of datagrams: to a group, which is told of by an event, and leaves it.
  int join(const File& file, std::uint32_t handle, std::uint64_t uid, const IpPort& address,
           std::uint32_t& group);
  int leave(const File& file, std::uint32_t group, std::uint32_t& events_reported);
  // To another file, with the events that nobody has fetched.
  int migrate(const File& from, const std::shared_ptr<File>& to, std::uint32_t handle,
              std::uint32_t& events_reported);

  // If there is none, and the caller then waits for one by File::wait(), it says so. Where that has
  // not come to its end, it says that, too.
  std::optional<Event> next_event(File& file, bool will_wait = false);
  void has_not_waited(File& file);
  // The program has closed it: its identifiers end.
  void close(const File& file);
  // The process ends: peers are told, unless another call is under way.
  void try_close_all();

 private:
  friend struct Id;
  using IdPtr = std::shared_ptr<Id>;
  // Who asks, and by which number: a request that comes twice is one.
  using RequestKey = std::tuple<Gid, std::uint16_t, std::uint32_t, MessageKind>;

  struct Heard {
    int nic = 0;
    Endpoint from = 0;
    Mad mad{};
  };

  // manager.cc
  IdPtr find(const File& file, std::uint32_t handle) const;
  IdPtr make_id(const std::shared_ptr<File>& file, PortSpace space, QpKind kind);
  void end_id(const IdPtr& id);
  void end_all();
  Result<Device*> nic(int index);
  Device& device_of(const Id& id) const { return *nics_.at(id.nic); }
  // ::1 is this host's first NIC, by the address that its fabric knows.
  Gid fabric_ip(const Gid& ip) const;
  int own_nic(const Gid& ip) const;
  bool is_of_fabric(const Gid& ip) const;
  bool is_reachable(const Gid& ip) const;

  // manager_address.cc
  int bind_to(Id& id, IpPort address);
  void tell(Id& id, EventKind kind, int status);

  // manager_connect.cc
  int resolve(Id& id, const IpPort& destination);
  Way way_to(const Id& id, const Gid& ip) const;
  void begin_connection(Id& id, std::set<Endpoint> peers);
  int find_peers(const Id& id, std::set<Endpoint>& peers);
  void note_peer_name(Id& id);

  // manager_multicast.cc
  void leave_all(Id& id);

  // manager_thread.cc
  void run();
  void wake();
  std::optional<std::uint64_t> next_deadline_ns() const;
  void transmit(const Id& id, const Message& message);
  void reply(const Heard& to, const Message& message);
  void hear(const Heard& heard);
  void hear_request(const Heard& heard, const Message& message);
  void ask_listener(const IdPtr& listener, const Heard& heard, const Message& message);
  void refuse_request(const Heard& heard, const Message& message);
  IdPtr find_listener(const Heard& heard, const Message& message) const;
  IdPtr find_connection(const Heard& heard, const Message& message) const;
  void pass_time();
  void look_for_peers(std::uint64_t now_ns);
  void forget_ended();

  const Spec spec_;
  const OpenNic open_nic_;

  mutable std::mutex mutex_;  // of all but the inbox
  PortNames ports_;
  SocketNames names_;
  std::map<int, Device*> nics_;                           // those that are open
  std::unordered_map<std::uint32_t, IdPtr> ids_;          // by handle
  std::unordered_map<std::uint32_t, IdPtr> groups_;       // who is in them, by their handle
  std::unordered_map<std::uint32_t, IdPtr> connections_;  // by their own number, ended ones too
  std::map<RequestKey, IdPtr> requests_;
  std::uint32_t last_handle_ = 0;
  std::uint32_t last_group_ = 0;
  std::uint32_t last_number_;
  std::uint16_t last_port_ = 0;
  std::uint64_t looked_ns_ = 0;

  std::mutex inbox_mutex_;  // never held while the other one, or a NIC, is waited for
  std::condition_variable woken_;
  std::vector<Heard> inbox_;
  bool is_woken_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

// The one by which a NIC is reached: of Ethernet that of RoCE v2.
Gid gid_of_nic(const Spec& spec, int index);
// The address of a NIC: as its GID says it, and of InfiniBand as its IPoIB would have it.
Gid ip_of_nic(const Spec& spec, int index);
// The GID of a group of IP, and on InfiniBand its LID.
Gid gid_of_group(const Spec& spec, PortSpace space, const Gid& ip);
std::uint16_t lid_of_group(const Gid& group);

}  // namespace gdakit::softnic::uverbs::cm
