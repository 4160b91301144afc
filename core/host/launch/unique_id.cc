#include "core/host/launch/unique_id.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/host/launch/launch_source.h"
#include "core/host/launch/tcp_listener.h"

namespace gdakit {
namespace {

constexpr std::uint32_t kVersion = 0x67646b01;  // "gdk", 1

// The sockets that wait for the init of their ids. They must be the process's: an id is plain
// bytes, which may go round before they come back, and own nothing.
class Listeners {
 public:
  void keep(const JobSecret& secret, std::uint16_t port, UniqueFileDescriptor listener) {
    const std::lock_guard lock(mutex_);
    sockets_[{secret, port}] = std::move(listener);
  }

  UniqueFileDescriptor take(const JobSecret& secret, std::uint16_t port) {
    const std::lock_guard lock(mutex_);
    auto found = sockets_.extract({secret, port});
    return found ? std::move(found.mapped()) : UniqueFileDescriptor();
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<JobSecret, std::uint16_t>, UniqueFileDescriptor> sockets_;
};

Listeners& listeners() {
  static Listeners the_listeners;
  return the_listeners;
}

Result<void> check(const UniqueId& id, int rank, int n_pes) {
  if (n_pes < 1 || n_pes > kMostPes || rank < 0 || rank >= n_pes) {
    return Error(Code::invalid_argument, "init with a unique id: PE " + std::to_string(rank) +
                                             " of " + std::to_string(n_pes) +
                                             " is not possible; ranks are 0 to n_pes - 1");
  }
  const bool ended = std::ranges::find(id.host, '\0') != id.host.end();
  if (id.version == kVersion && id.port != 0 && ended && id.host.front() != '\0') return {};
  return Error(Code::invalid_argument,
               "init with a unique id: these bytes are none of this version of gdakit; give every "
               "PE all " +
                   std::to_string(sizeof(UniqueId)) + " bytes that make_unique_id gave");
}

}  // namespace

Result<UniqueId> make_unique_id(const Options& options) {
  if (Result<void> valid = options.validate(); !valid) return valid.error();
  LaunchInfo info;
  info.root_host = own_host();
  if (!options.root.empty()) set_root(info, options.root);
  UniqueId id{};
  if (info.root_host.size() >= id.host.size()) {
    return Error(Code::invalid_argument, "make_unique_id: the name of this host, " +
                                             info.root_host + ", is longer than " +
                                             std::to_string(id.host.size() - 1) +
                                             " characters; set GDAKIT_ROOT to its address");
  }
  const Result<JobSecret> secret =
      options.secret.empty() ? make_job_secret() : parse_job_secret(options.secret);
  if (!secret) return secret.error();
  Result<UniqueFileDescriptor> listener = open_root_listener(info.root_host, info.root_port);
  if (!listener) return listener.error().within("make_unique_id");
  const Result<ListenerAddress> address = listener_address(listener->get());
  if (!address) return address.error().within("make_unique_id");
  id.version = Be32(kVersion);
  id.port = Be16(address->port);
  id.secret = *secret;
  std::ranges::copy(info.root_host, id.host.begin());
  listeners().keep(id.secret, address->port, std::move(*listener));
  return id;
}

Result<Launch> start_launch(const Options& options, const UniqueId& id, int rank, int n_pes) {
  if (Result<void> valid = options.validate(); !valid) return valid.error();
  if (Result<void> good = check(id, rank, n_pes); !good) return good.error();
  const Result<std::optional<int>> local = local_rank_of(
      options, {"LOCAL_RANK", "PMIX_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"});
  if (!local) return local.error();
  Launch launch;
  launch.info.rank = rank;
  launch.info.size = n_pes;
  launch.info.local_rank = *local;
  launch.info.root_host = id.host.data();
  launch.info.root_port = id.port;
  launch.info.secret = id.secret;
  launch.info.timeout = options.timeout;
  if (rank != 0) return launch;
  launch.listener = listeners().take(id.secret, id.port);
  if (!launch.listener) {
    return Error(Code::not_found,
                 "init with a unique id: this process is PE 0, but did not make this id, or has "
                 "used it before; call make_unique_id in this process, once for each job");
  }
  launch.info.listen_fd = launch.listener.get();
  return launch;
}

}  // namespace gdakit
