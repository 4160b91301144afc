// Step put: each port that is ACTIVE writes to itself, by a queue made and posted to as a PE's are.
#include <array>

#include "tools/check/put_trouble.h"
#include "tools/check/steps.h"

namespace gdakit::tools::check {
namespace {

constexpr std::array<std::uint64_t, 2> kSizes{8, mlx5::PutEnd::kMostBytes};

Result<void> connect_to_itself(mlx5::PutEnd& end) {
  const Result<Bytes> card = end.make_queue();
  return card ? end.connect(*card) : Result<void>(card.error());
}

void put_to_itself(const Surroundings& surroundings, const Surroundings::UsablePort& usable,
                   StepReport& report) {
  const bool alone = surroundings.own_nics().size() < 2;
  const PutRoute route{usable.name(), usable.nic->name, true, usable.address(),
                       alone ? "the soft NIC: GDAKIT_BACKEND=softnic"
                             : "the other NICs: GDAKIT_HCA_LIST=^" + usable.nic->name};
  Result<std::unique_ptr<mlx5::PutEnd>> end =
      surroundings.open_put_end(usable.nic->name, usable.port->number);
  if (!end) {
    return report.add(refused_call(route, "the NIC, and 2 MiB of memory for it", end.error()));
  }
  if (const Result<void> connected = connect_to_itself(**end); !connected) {
    return report.add(
        refused_call(route, "a queue pair that is connected to itself", connected.error()));
  }
  std::string text;
  for (const std::uint64_t bytes : kSizes) {
    const auto seed = static_cast<std::uint8_t>(bytes >> 3);
    (*end)->prepare(bytes, seed);
    const mlx5::PutOutcome outcome = (*end)->put(bytes, seed, surroundings.put_limit);
    if (outcome.kind != mlx5::PutOutcome::Kind::arrived) {
      return report.add(failed_put(route, bytes, outcome, surroundings.put_limit));
    }
    const std::uint64_t wrong = (*end)->count_wrong(bytes, seed);
    if (wrong != 0) return report.add(wrong_bytes(route, bytes, wrong));
    text +=
        (text.empty() ? "8 bytes in " : " us, 1 MiB in ") + std::to_string(outcome.took.count());
  }
  report.say(usable.name() + ": " + text + " us, every byte right");
}

}  // namespace

StepReport look_at_put(const Surroundings& surroundings) {
  const auto ports = surroundings.usable_ports();
  if (ports.empty()) return skipped(surroundings.why_no_nic());
  StepReport report;
  for (const Surroundings::UsablePort& usable : ports) put_to_itself(surroundings, usable, report);
  return report;
}

}  // namespace gdakit::tools::check
