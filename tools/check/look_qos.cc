// Step qos: the class in which puts go, what a NIC has to spare, and which ones this PE takes.
#include "backends/mlx5/traffic_class.h"
#include "tools/check/needs.h"
#include "tools/check/steps.h"

namespace gdakit::tools::check {
namespace {

// The number; nothing if none is set.
std::string class_of_host(const Tree& tree, const Surroundings::UsablePort& usable) {
  const auto line = tree.read("/sys/class/infiniband/" + usable.nic->name + "/tc/" +
                              std::to_string(usable.port->number) + "/traffic_class");
  const auto number = mlx5::parse_traffic_class(line.value_or(""));
  return number ? std::to_string(*number) : "";
}

Finding other_class(const Surroundings::UsablePort& usable, const std::string& asked,
                    const std::string& host) {
  return {.verdict = Verdict::warning,
          .on = usable.name(),
          .tried = "GDAKIT_TRAFFIC_CLASS, against the host's own in tc/1/traffic_class",
          .answer = "GDAKIT_TRAFFIC_CLASS=" + asked + ", where the host has tclass=" + host,
          .cause =
              "the network may treat that class as lossy, and the host's as lossless; under "
              "load retries then run out",
          .proof = "mlnx_qos -i DEVICE",
          .remedy = "unset GDAKIT_TRAFFIC_CLASS: gdakit then takes the host's",
          .otherwise = "all of it, as long as the network drops nothing"};
}

Finding too_few_queue_pairs(const Surroundings& surroundings,
                            const Surroundings::UsablePort& usable, std::uint64_t wanted) {
  return {.on = usable.name(),
          .tried = "the queue pairs of a PE, against those that the NIC has",
          .answer = std::to_string(wanted) + " in a job of " + std::to_string(surroundings.pes) +
                    " PEs, where it has " + std::to_string(usable.nic->most_queue_pairs),
          .cause =
              "queue pairs to all peers are more than this NIC, or this virtual function of one, "
              "has: CREATE_QP will say 0x8 (limits exceeded)",
          .proof = "rdma resource show",
          .remedy = "GDAKIT_QUEUE_TYPE=dc; fewer queues: GDAKIT_QUEUES_PER_PEER=1",
          .otherwise = "smaller jobs"};
}

Finding too_few_nics(const Error& error) {
  return {.tried = "the choice of this PE's NICs, of which it takes GDAKIT_NICS_PER_PE",
          .answer = error.message(),
          .cause =
              "GDAKIT_HCA_LIST or GDAKIT_HCA_MAP leaves out what it names, or the host has too "
              "few NICs that can be used (steps device and port)",
          .proof = "gdakit info",
          .remedy = "GDAKIT_HCA_MAP for the NICs of this host; a lower GDAKIT_NICS_PER_PE",
          .otherwise = "without GDAKIT_HCA_MAP a PE takes the nearest NICs that can be used"};
}

void judge_choice(const Surroundings& surroundings, StepReport& report) {
  const Result<std::vector<mlx5::PlacedNic>> nics = surroundings.nics_of_this_pe();
  if (!nics) return report.add(too_few_nics(nics.error()));
  std::string text;
  for (const mlx5::PlacedNic& nic : *nics) {
    text += (text.empty() ? "" : ", ") + nic.name + " port " + std::to_string(nic.port) + " (" +
            nic.why + ")";
  }
  report.say("this PE takes " + text);
}

}  // namespace

StepReport look_at_qos(const Surroundings& surroundings) {
  StepReport report;
  const Options& options = surroundings.options;
  const std::string level = std::to_string(options.service_level.value_or(0));
  const std::uint64_t wanted = queues_on_a_nic(surroundings);
  for (const Surroundings::UsablePort& usable : surroundings.usable_ports()) {
    const std::string host = class_of_host(surroundings.tree, usable);
    const std::string asked =
        options.traffic_class ? std::to_string(*options.traffic_class) : std::string();
    const std::string used = !asked.empty() ? asked : host.empty() ? "0" : host;
    report.say(usable.name() + ": traffic class " + used + ", service level " + level + ", " +
               std::to_string(wanted) + " queue pairs a PE of at most " +
               std::to_string(usable.nic->most_queue_pairs));
    report.facts["traffic class"] = used;
    report.facts["service level"] = level;
    if (wanted > usable.nic->most_queue_pairs) {
      report.add(too_few_queue_pairs(surroundings, usable, wanted));
    }
    if (!asked.empty() && !host.empty() && asked != host) {
      report.add(other_class(usable, asked, host));
    }
  }
  if (report.summary.empty()) return skipped(surroundings.why_no_nic());
  judge_choice(surroundings, report);
  return report;
}

}  // namespace gdakit::tools::check
