// Steps port and gid: whether each port is up, and which addresses it has.
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "core/base/hex.h"
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

constexpr unsigned kFullMember = 0x8000;  // of a partition, the bit above its number

// Where the partition of queue pairs stands.
std::string pkey_file(const Options& options, const mlx5::NicLook& nic,
                      const mlx5::PortLook& port) {
  return folder_of(nic, port) + "/pkeys/" + std::to_string(options.pkey_index);
}

// That partition, of InfiniBand. Nothing: the system does not tell.
std::optional<unsigned> read_pkey(const Tree& tree, const std::string& file) {
  const auto text = tree.read(file);
  if (!text) return std::nullopt;
  unsigned pkey = 0;
  const std::string_view digits = std::string_view(*text).substr(text->starts_with("0x") ? 2 : 0);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), pkey, /*base=*/16);
  return error == std::errc() ? std::optional(pkey) : std::nullopt;
}

// Of a table that has this place, or has not.
Finding pkey_finding(const mlx5::NicLook& nic, const mlx5::PortLook& port,
                     const std::string& file) {
  return {.on = name_of(nic, port),
          .tried = file + ": the partition that gdakit's queue pairs are in (GDAKIT_PKEY_INDEX)",
          .proof = "grep . " + folder_of(nic, port) + "/pkeys/*",
          .otherwise = "the other NICs: GDAKIT_HCA_LIST=^" + nic.name};
}

// The option names a place that the table has not.
bool is_beyond(const Options& options, const mlx5::PortLook& port) {
  return options.pkey_index != 0 && options.pkey_index >= port.pkeys;
}
Finding beyond_the_table(const Options& options, const mlx5::NicLook& nic,
                         const mlx5::PortLook& port) {
  Finding finding = pkey_finding(nic, port, pkey_file(options, nic, port));
  finding.answer = "the port's table has " + std::to_string(port.pkeys) +
                   (port.pkeys == 1 ? " place" : " places") +
                   ", where GDAKIT_PKEY_INDEX=" + std::to_string(options.pkey_index);
  finding.cause = port.is_ethernet ? "RoCE has one partition" : "the index is another host's";
  finding.remedy = "an index of the table, or no GDAKIT_PKEY_INDEX";
  return finding;
}

void judge_pkey(const mlx5::NicLook& nic, const mlx5::PortLook& port, const std::string& file,
                unsigned pkey, StepReport& report) {
  Finding finding = pkey_finding(nic, port, file);
  finding.answer = hex_number(pkey);
  finding.remedy =
      "the subnet manager's partitions (partitions.conf of opensm): this port a full member of "
      "one; GDAKIT_PKEY_INDEX for that at another index";
  if ((pkey & ~kFullMember) == 0) {
    finding.cause =
        "the place is empty: the subnet manager has put this port into no partition, or "
        "into one at another index";
  } else if ((pkey & kFullMember) == 0) {
    finding.verdict = Verdict::warning;
    finding.cause =
        "a limited member of the partition: it reaches full members, and no other "
        "limited one";
  } else {
    return;
  }
  report.add(std::move(finding));
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

std::string gid_text(const mlx5::GidLook* gid) {
  if (gid == nullptr) return "none";
  return gid->text + " (index " + std::to_string(gid->index) +
         (gid->is_v2   ? ", RoCE v2)"
          : gid->is_v1 ? ", RoCE v1)"
                       : ")");
}

// GDAKIT_GID asks for what the port has not.
Finding not_the_choice(const Surroundings::UsablePort& usable, const std::string& choice) {
  std::string there;
  for (const mlx5::GidLook& gid : usable.port->gids) {
    there += (there.empty() ? "" : "; ") + gid_text(&gid);
  }
  return {.on = usable.name(),
          .tried = "the GIDs of the port, for GDAKIT_GID=" + choice,
          .answer = "none is of that choice, but there are these: " + there,
          .cause =
              "the addresses of this port are others than on the host that the choice was made "
              "for, or they have moved to other places of the table",
          .proof = "show_gids " + usable.nic->name,
          .remedy =
              "GDAKIT_GID by what all hosts have alike, as v2,ipv4,10.1.0.0/16, and not by an "
              "index",
          .otherwise =
              "without GDAKIT_GID a PE takes " + gid_text(chosen_gid(*usable.port, GidChoice()))};
}

}  // namespace

StepReport look_at_ports(const Surroundings& surroundings) {
  StepReport report;
  const Options& options = surroundings.options;
  std::set<std::string> layers, mtus, pkeys;
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
                 ", " + rate + (port.is_infiniband ? ", LID " + std::to_string(port.lid) : "") +
                 (port.needs_grh ? ", demands a global routing header" : ""));
      judge_active(*nic, port, report);
      if (is_beyond(options, port)) report.add(beyond_the_table(options, *nic, port));
      const std::string file = pkey_file(options, *nic, port);
      const auto pkey = port.is_infiniband ? read_pkey(surroundings.tree, file) : std::nullopt;
      if (pkey) {
        report.say("pkey " + hex_number(*pkey));
        judge_pkey(*nic, port, file, *pkey, report);
        pkeys.insert(hex_number(*pkey & ~kFullMember));
      }
      layers.insert(layer);
      mtus.insert(std::to_string(port.mtu));
    }
  }
  if (report.summary.empty()) return skipped(surroundings.why_no_nic());
  report.facts["link layer"] = joined({layers.begin(), layers.end()});
  report.facts["MTU"] = joined({mtus.begin(), mtus.end()});
  if (!pkeys.empty()) report.facts["partition"] = joined({pkeys.begin(), pkeys.end()});
  return report;
}

StepReport look_at_gids(const Surroundings& surroundings) {
  StepReport report;
  std::set<std::string> versions;
  for (const Surroundings::UsablePort& usable : surroundings.usable_ports()) {
    const std::string& choice = surroundings.options.gid;
    const bool is_chosen = !choice.empty() && usable.gid != nullptr;
    report.say(usable.name() + ' ' + gid_text(usable.gid) +
               (is_chosen ? ", by GDAKIT_GID=" + choice : ""));
    judge_gids(usable, report);
    if (usable.gid == nullptr && !usable.port->gids.empty()) {
      report.add(not_the_choice(usable, choice));
    }
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
