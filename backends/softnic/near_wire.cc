#include "backends/softnic/near_wire.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/softnic/nic_link.h"
#include "backends/softnic/wire/shm_wire.h"
#include "core/host/bootstrap/host_name.h"
#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit::softnic {
namespace {

// Processes that have the same see each other in /proc, may open what the other has, and meet by
// the names of sockets. Without padding.
struct HostCard {
  HostName host;
  std::uint64_t user = 0;
  std::uint64_t process_numbers = 0;  // namespaces
  std::uint64_t network = 0;

  bool operator==(const HostCard&) const = default;
};
static_assert(sizeof(HostCard) == sizeof(HostName) + 24);

// A number that no other namespace of this host has; 0 if it is not known.
std::uint64_t namespace_number(const char* path) {
  struct stat status {};
  return ::stat(path, &status) == 0 ? status.st_ino : 0;
}

HostCard own_card() {
  return {this_host(), ::geteuid(), namespace_number("/proc/self/ns/pid"),
          namespace_number("/proc/self/ns/net")};
}

// The segment of this PE's host: the first PE there makes it, whose path the others get by the
// bootstrap. Packets that carry payload by reference are as long as within a process.
Result<std::shared_ptr<ShmSegment>> share_segment(Bootstrap& bootstrap, const Hosts& hosts,
                                                  std::optional<std::uint32_t> mtu) {
  const auto rank = static_cast<std::size_t>(bootstrap.rank());
  const std::size_t first = hosts.first(rank);
  Result<std::shared_ptr<ShmSegment>> own =
      Error(Code::unavailable, "PE " + std::to_string(first) + " could not make one");
  std::string path;
  if (first == rank) {
    auto options =
        ShmOptions::for_endpoints(static_cast<std::uint32_t>(hosts.members(rank).size()));
    if (mtu) options.mtu = *mtu;
    own = ShmSegment::create(options);
    if (own) path = (*own)->path();
  }
  const auto paths = bootstrap.allgather(to_bytes(path.data(), path.size()));
  if (!paths) return paths.error();
  const Bytes& given = (*paths)[first];
  if (first == rank || given.empty()) return own;
  return ShmSegment::open({reinterpret_cast<const char*>(given.data()), given.size()});
}

// Without the hosts of which a PE has no wire.
Result<Hosts> with_wires(Bootstrap& bootstrap, const Hosts& hosts, bool has_wire) {
  const auto have = allgather_value(bootstrap, std::uint8_t{has_wire});
  if (!have) return have.error();
  std::vector<bool> all_have(hosts.size(), true);
  for (std::size_t pe = 0; pe < hosts.size(); ++pe) {
    if ((*have)[pe] == 0) all_have[hosts.first(pe)] = false;
  }
  std::vector<std::size_t> firsts;
  for (std::size_t pe = 0; pe < hosts.size(); ++pe) {
    firsts.push_back(all_have[hosts.first(pe)] ? hosts.first(pe) : pe);
  }
  return Hosts(std::move(firsts));
}

Result<std::unique_ptr<ShmWire>> attach(Bootstrap& bootstrap, const Hosts& hosts,
                                        std::optional<std::uint32_t> mtu,
                                        std::shared_ptr<const PeerMemory> memory) {
  const auto segment = share_segment(bootstrap, hosts, mtu);
  if (!segment) return segment.error();
  const auto rank = static_cast<std::size_t>(bootstrap.rank());
  std::vector<Endpoint> members = hosts.members(rank);
  const auto place = std::find(members.begin(), members.end(), rank) - members.begin();
  return (*segment)->attach(static_cast<Endpoint>(place), std::move(memory), std::move(members));
}

}  // namespace

Hosts Hosts::one(int pes) { return Hosts(std::vector<std::size_t>(static_cast<std::size_t>(pes))); }

bool Hosts::are_one() const {
  return std::all_of(firsts_.begin(), firsts_.end(), [](std::size_t first) { return first == 0; });
}

bool Hosts::are_apart() const {
  for (std::size_t pe = 0; pe < firsts_.size(); ++pe) {
    if (firsts_[pe] != pe) return false;
  }
  return true;
}

std::vector<bool> Hosts::near(std::size_t pe) const {
  std::vector<bool> near;
  for (std::size_t other = 0; other < firsts_.size(); ++other) near.push_back(are_near(pe, other));
  return near;
}

std::vector<Endpoint> Hosts::members(std::size_t pe) const {
  std::vector<Endpoint> members;
  for (std::size_t other = 0; other < firsts_.size(); ++other) {
    if (are_near(pe, other)) members.push_back(static_cast<Endpoint>(other));
  }
  return members;
}

Result<Hosts> find_hosts(Bootstrap& bootstrap) {
  const auto cards = allgather_value(bootstrap, own_card());
  if (!cards) return cards.error();
  std::vector<std::size_t> firsts;
  for (const HostCard& card : *cards) {
    const auto first = std::find(cards->begin(), cards->end(), card);
    firsts.push_back(static_cast<std::size_t>(first - cards->begin()));
  }
  return Hosts(std::move(firsts));
}

Result<NearLink> open_near_wire(const Options& options, Bootstrap& bootstrap,
                                MemoryProvider& memory, const Hosts& hosts) {
  const auto rank = static_cast<std::size_t>(bootstrap.rank());
  auto sharing = HeapSharing::open(options, bootstrap, memory, hosts.near(rank));
  if (!sharing) return sharing.error();
  const bool by_reference = *sharing != nullptr;
  std::optional<std::uint32_t> mtu;
  if (by_reference) mtu = reference_mtu(memory);
  auto wire = attach(bootstrap, hosts, mtu, by_reference ? (*sharing)->memory() : nullptr);
  const Result<> attached = wire ? Result<>() : wire.error().within("shared-memory wire");
  Result<Hosts> left = with_wires(bootstrap, hosts, static_cast<bool>(wire));
  if (!left) return left.error();
  NearLink link{nullptr, std::move(*sharing), std::move(*left), attached};
  if (wire && link.hosts.members(rank) == hosts.members(rank)) link.wire = std::move(*wire);
  return link;
}

}  // namespace gdakit::softnic
