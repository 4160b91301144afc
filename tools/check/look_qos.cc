// Step qos: the class in which puts go, what a NIC has to spare, and which one this PE takes.
#include <sstream>

#include "tools/check/steps.h"

namespace gdakit::tools::check {
namespace {

// "Global tclass=106": the number; nothing if none is set.
std::string class_of_host(const Tree& tree, const Surroundings::UsablePort& usable) {
  std::istringstream lines(tree.read("/sys/class/infiniband/" + usable.nic->name + "/tc/" +
                                     std::to_string(usable.port->number) + "/traffic_class")
                               .value_or(""));
  std::string word;
  while (lines >> word) {
    if (word.starts_with("tclass=")) return word.substr(word.find('=') + 1);
  }
  return {};
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

std::string own_nic_text(const Surroundings& surroundings) {
  const Result<mlx5::PlacedNic> own = surroundings.own_nic();
  if (!own) return "this PE takes no NIC: " + own.error().message();
  return "this PE takes " + own->name + " port " + std::to_string(own->port) + " (" + own->why +
         ")";
}

}  // namespace

StepReport look_at_qos(const Surroundings& surroundings) {
  StepReport report;
  const Options& options = surroundings.options;
  const std::string level = std::to_string(options.service_level.value_or(0));
  for (const Surroundings::UsablePort& usable : surroundings.usable_ports()) {
    const std::string host = class_of_host(surroundings.tree, usable);
    const std::string asked =
        options.traffic_class ? std::to_string(*options.traffic_class) : std::string();
    const std::string used = !asked.empty() ? asked : host.empty() ? "0" : host;
    report.say(usable.name() + ": traffic class " + used + ", service level " + level +
               ", at most " + std::to_string(usable.nic->most_queue_pairs) + " queue pairs");
    report.facts["traffic class"] = used;
    report.facts["service level"] = level;
    if (!asked.empty() && !host.empty() && asked != host) {
      report.add(other_class(usable, asked, host));
    }
  }
  if (report.summary.empty()) return skipped(surroundings.why_no_nic());
  report.say(own_nic_text(surroundings));
  return report;
}

}  // namespace gdakit::tools::check
