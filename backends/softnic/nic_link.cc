#include "backends/softnic/nic_link.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "backends/softnic/near_wire.h"
#include "backends/softnic/udp_fabric.h"
#include "backends/softnic/wire/loopback_wire.h"
#include "backends/softnic/wire/routed_wire.h"
#include "core/base/log.h"
#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit::softnic {
namespace {

// "PEs 0, 1"; empty for none.
std::string pes_text(const std::vector<bool>& these, bool value) {
  std::string text;
  int count = 0;
  for (std::size_t pe = 0; pe < these.size(); ++pe) {
    if (these[pe] != value) continue;
    text += (count++ == 0 ? "" : ", ") + std::to_string(pe);
  }
  if (count == 0) return text;
  return (count == 1 ? "PE " : "PEs ") + text;
}

void tell(const Options& options, const Bootstrap& bootstrap, const std::vector<bool>& near) {
  const Log log(options.log, bootstrap.rank());
  if (!log.shows(LogLevel::info)) return;
  const std::string by_memory = pes_text(near, true), by_udp = pes_text(near, false);
  std::string text = "the NIC reaches ";
  if (!by_memory.empty()) text += by_memory + " through shared memory";
  if (!by_memory.empty() && !by_udp.empty()) text += ", ";
  if (!by_udp.empty()) text += by_udp + " over UDP";
  log.info(text);
}

// Nobody may send to a NIC that cannot receive yet, or does not know the sender.
Result<NicLink> meet(Bootstrap& bootstrap, NicLink link) {
  if (const Result<> met = bootstrap.barrier(); !met) return met.error();
  return link;
}

NicLink over_udp(const Options& options, const Bootstrap& bootstrap, UdpLink udp) {
  Log(options.log, bootstrap.rank())
      .info("the NIC is at " + udp.wire->address().text() +
            (udp.share.bits != 0 ? ", which it shares with others of this host" : ""));
  NicLink link{.wire = std::move(udp.wire), .port = udp.share};
  link.address = [all = std::move(udp.addresses)](Endpoint endpoint) {
    return endpoint < all.size() ? all[endpoint] : UdpAddress{};
  };
  return link;
}

Error with_remedy(const Error& error) {
  return Error(error.code(),
               error.message() +
                   "; this wire is one between processes of one host that see each other in /proc. "
                   "Between hosts and containers there is one over UDP: set GDAKIT_NIC_ADDRESS",
               error.system_code());
}

}  // namespace

std::uint32_t reference_mtu(const MemoryProvider& memory) {
  constexpr std::uint32_t kOnGpu = std::uint32_t{64} << 20;
  return memory.gpu() ? kOnGpu : LoopbackOptions{}.mtu;
}

Result<NicLink> link_in_memory(const Options& options, Bootstrap& bootstrap,
                               MemoryProvider& memory) {
  auto near = open_near_wire(options, bootstrap, memory, Hosts::one(bootstrap.size()));
  if (!near) return near.error();
  const Result<> all = all_succeed(bootstrap, near->attached);
  if (!all) return with_remedy(all.error());
  tell(options, bootstrap, near->hosts.near(0));
  return meet(bootstrap, {.wire = std::move(near->wire), .sharing = std::move(near->sharing)});
}

Result<NicLink> link_over_udp(const Options& options, Bootstrap& bootstrap) {
  const Result<Hosts> hosts = find_hosts(bootstrap);
  if (!hosts) return hosts.error();
  const std::vector<bool> nobody(hosts->size());
  auto udp = open_udp_wire(options, bootstrap, *hosts, nobody);
  if (!udp) return udp.error();
  tell(options, bootstrap, nobody);
  return meet(bootstrap, over_udp(options, bootstrap, std::move(*udp)));
}

Result<NicLink> link_by_place(const Options& options, Bootstrap& bootstrap,
                              MemoryProvider& memory) {
  const Result<Hosts> hosts = find_hosts(bootstrap);
  if (!hosts) return hosts.error();
  if (hosts->are_apart() && !hosts->are_one()) return link_over_udp(options, bootstrap);
  auto near = open_near_wire(options, bootstrap, memory, *hosts);
  if (!near) return near.error();
  if (!near->attached) {
    Log(options.log, bootstrap.rank())
        .warn("the PEs of this host meet over UDP: " + near->attached.error().message());
  }
  std::vector<bool> is_near(hosts->size());
  if (near->wire != nullptr) is_near = near->hosts.near(static_cast<std::size_t>(bootstrap.rank()));
  tell(options, bootstrap, is_near);
  if (near->hosts.are_one()) {
    return meet(bootstrap, {.wire = std::move(near->wire), .sharing = std::move(near->sharing)});
  }
  auto udp = open_udp_wire(options, bootstrap, *hosts, is_near);
  if (!udp) return udp.error();
  NicLink link = over_udp(options, bootstrap, std::move(*udp));
  link.sharing = std::move(near->sharing);
  if (near->wire != nullptr) {
    link.wire = std::make_unique<RoutedWire>(std::move(near->wire), std::move(link.wire),
                                             std::move(is_near));
  }
  return meet(bootstrap, std::move(link));
}

}  // namespace gdakit::softnic
