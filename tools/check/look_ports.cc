// Steps port and gid: whether each port is up, and which addresses it has.
#include <algorithm>
#include <set>

#include "tools/check/steps.h"

namespace gdakit::tools::check {
namespace {

constexpr unsigned kSmallMtu = 1024;

std::string name_of(const mlx5::NicLook& nic, const mlx5::PortLook& port) {
  return nic.name + " port " + std::to_string(port.number);
}

std::string folder_of(const mlx5::NicLook& nic, const mlx5::PortLook& port) {
  return "/sys/class/infiniband/" + nic.name + "/ports/" + std::to_string(port.number);
}

bool has_active_port(const mlx5::NicLook& nic) {
  return std::ranges::any_of(nic.ports, [](const auto& port) { return port.is_active; });
}

Finding not_active(const Tree& tree, const mlx5::NicLook& nic, const mlx5::PortLook& port) {
  const std::string physical = tree.read(folder_of(nic, port) + "/phys_state").value_or("not told");
  Finding finding{.on = name_of(nic, port),
                  .tried = "ibv_query_port: the port's state",
                  .answer = port.query.ok()
                                ? port.state + ", physical state " + physical + "; wanted is ACTIVE"
                                : answer_text(port.query.said, port.query.code),
                  .proof = "ibstat " + nic.name + " " + std::to_string(port.number),
                  .otherwise = "the other NICs: GDAKIT_HCA_LIST=^" + nic.name};
  if (port.is_infiniband && (port.state == "INIT" || port.state == "ARMED")) {
    finding.cause = "no subnet manager has set the port up";
    finding.proof = "sminfo";
    finding.remedy = "start a subnet manager (opensm, or the switch's)";
  } else {
    finding.cause = port.is_ethernet ? "no cable, the far end is down, or the network interface is"
                                     : "no cable, or the far end is down";
    finding.remedy = port.is_ethernet ? "plug it in; ip link set DEVICE up" : "plug it in";
  }
  return finding;
}

void judge_active(const mlx5::NicLook& nic, const mlx5::PortLook& port, StepReport& report) {
  if (port.is_infiniband && port.lid == 0) {
    report.add({.on = name_of(nic, port),
                .tried = "ibv_query_port: the port's LID",
                .answer = "0",
                .cause = "no subnet manager has given it one",
                .proof = "sminfo",
                .remedy = "start a subnet manager",
                .otherwise = "the other NICs: GDAKIT_HCA_LIST=^" + nic.name});
  }
  if (port.mtu > kSmallMtu || port.mtu >= port.max_mtu) return;
  report.add({.verdict = Verdict::warning,
              .on = name_of(nic, port),
              .tried = "ibv_query_port: the port's MTU",
              .answer = std::to_string(port.mtu) + " of at most " + std::to_string(port.max_mtu),
              .cause = port.is_ethernet ? "the network interface has an MTU of 1500, into which "
                                          "1024 bytes of RDMA fit"
                                        : "the subnet manager's partition is set so",
              .proof = port.is_ethernet ? "ip link" : "ibv_devinfo -d " + nic.name,
              .remedy = port.is_ethernet ? "an MTU of 4200 or more (often 9000) on the interface, "
                                           "all switches and all hosts"
                                         : "the partition's MTU, in the subnet manager",
              .otherwise = "all of it, with less bandwidth"});
}

void judge_gids(const Surroundings::UsablePort& usable, StepReport& report) {
  const auto any = [&](auto wanted) { return std::ranges::any_of(usable.port->gids, wanted); };
  Finding finding{.verdict = Verdict::warning,
                  .on = usable.name(),
                  .tried = "the GIDs of the port",
                  .proof = "show_gids " + usable.nic->name,
                  .otherwise = "peers of the same subnet"};
  if (usable.port->gids.empty()) {
    finding.verdict = Verdict::failed;
    const mlx5::Answer& read = usable.port->gids_read;
    finding.answer = read.failed() ? answer_text(read.said, read.code) : "there is none";
    finding.cause = read.failed() ? "GIDs of another network namespace cannot be read here"
                    : usable.port->is_ethernet
                        ? "the port's network interface is down, or in another network namespace"
                        : "no subnet manager has been here";
    finding.remedy = usable.port->is_ethernet
                         ? "ip link set DEVICE up; for a container host networking, or move the "
                           "RDMA device into its network namespace"
                         : "start a subnet manager";
    finding.otherwise = "the other NICs: GDAKIT_HCA_LIST=^" + usable.nic->name;
  } else if (!usable.port->is_ethernet) {
    return;
  } else if (!any([](const auto& gid) { return gid.is_v2; })) {
    finding.answer = "RoCE v1 alone, which no router carries";
    finding.cause = "the NIC or its driver is set to RoCE v1";
    finding.remedy = "cma_roce_mode, or the driver's default; peers must have the same version";
  } else if (!any([](const auto& gid) { return gid.is_v2 && !gid.is_link_local; })) {
    finding.answer =
        "of RoCE v2 only link-local ones (fe80::), with which no other subnet is "
        "reached";
    finding.cause = "the port's network interface has no address";
    finding.remedy = "give it an IPv4 address: ip address add";
  } else {
    return;
  }
  report.add(std::move(finding));
}

std::string gid_text(const mlx5::PortLook& port) {
  const mlx5::GidLook* const best = best_gid(port);
  if (best == nullptr) return "none";
  return best->text + " (index " + std::to_string(best->index) +
         (best->is_v2   ? ", RoCE v2)"
          : best->is_v1 ? ", RoCE v1)"
                        : ")");
}

}  // namespace

StepReport look_at_ports(const Surroundings& surroundings) {
  StepReport report;
  std::set<std::string> layers, mtus;
  for (const mlx5::NicLook* nic : surroundings.own_nics()) {
    if (!nic->open.ok()) continue;
    for (const mlx5::PortLook& port : nic->ports) {
      if (!port.is_active) {
        report.say(name_of(*nic, port) + ' ' + (port.query.ok() ? port.state : "not told"));
        // A card's second port may well be unused.
        if (!has_active_port(*nic)) report.add(not_active(surroundings.tree, *nic, port));
        continue;
      }
      const char* const layer = port.is_ethernet ? "RoCE" : "InfiniBand";
      const std::string rate =
          surroundings.tree.read(folder_of(*nic, port) + "/rate").value_or("rate not told");
      report.say(name_of(*nic, port) + " ACTIVE, " + layer + ", MTU " + std::to_string(port.mtu) +
                 ", " + rate + (port.is_infiniband ? ", LID " + std::to_string(port.lid) : ""));
      judge_active(*nic, port, report);
      layers.insert(layer);
      mtus.insert(std::to_string(port.mtu));
    }
  }
  if (report.summary.empty()) return skipped(surroundings.why_no_nic());
  report.facts["link layer"] = joined({layers.begin(), layers.end()});
  report.facts["MTU"] = joined({mtus.begin(), mtus.end()});
  return report;
}

StepReport look_at_gids(const Surroundings& surroundings) {
  StepReport report;
  std::set<std::string> versions;
  for (const Surroundings::UsablePort& usable : surroundings.usable_ports()) {
    report.say(usable.name() + ' ' + gid_text(*usable.port));
    judge_gids(usable, report);
    if (!usable.port->is_ethernet) continue;
    const bool v2 =
        std::ranges::any_of(usable.port->gids, [](const auto& gid) { return gid.is_v2; });
    versions.insert(v2 ? "v2" : "v1");
  }
  if (report.summary.empty()) return skipped(surroundings.why_no_nic());
  if (!versions.empty()) report.facts["RoCE"] = joined({versions.begin(), versions.end()});
  return report;
}

}  // namespace gdakit::tools::check
