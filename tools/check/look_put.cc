// Step put: each port that is ACTIVE writes to itself, by a queue made and posted to as a PE's are,
// of the type that it would have (GDAKIT_QUEUE_TYPE).
#include <algorithm>
#include <array>
#include <optional>

#include "core/host/counter_table.h"
#include "tools/check/put_trouble.h"
#include "tools/check/steps.h"

namespace gdakit::tools::check {
namespace {

constexpr std::array<std::uint64_t, 2> kSizes{8, mlx5::PutEnd::kMostBytes};

// Packets that were sent again or refused: where nothing is lost none of them moves. Names as
// hw_counters of the port has them.
constexpr std::array<std::uint64_t NicCounters::*, 7> kTroubles{
    &NicCounters::out_of_sequence,       &NicCounters::duplicate_request,
    &NicCounters::packet_seq_err,        &NicCounters::implied_nak_seq_err,
    &NicCounters::local_ack_timeout_err, &NicCounters::rnr_nak_retry_err,
    &NicCounters::roce_adp_retrans};

// "2 of packet_seq_err, 1 of out_of_sequence"; empty: nothing.
std::string moved_between(const NicCounters& before, const NicCounters& after) {
  std::string moved;
  for (const CounterRow& row : counter_table()) {
    const std::uint64_t count = value_of(after, row) - value_of(before, row);
    if (count == 0 || std::ranges::find(kTroubles, row.member) == kTroubles.end()) continue;
    moved += (moved.empty() ? "" : ", ") + std::to_string(count) + " of " + std::string(row.name);
  }
  return moved;
}

void compare(const PutRoute& route, const std::optional<NicCounters>& before,
             const std::optional<NicCounters>& after, StepReport& report) {
  if (!before || !after) return;
  const std::string moved = moved_between(*before, *after);
  if (!moved.empty()) report.add(lossy_puts(route, moved));
}

Result<void> connect_to_itself(mlx5::PutEnd& end, QueueType type) {
  const Result<Bytes> card = end.make_queue(type);
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
  const QueueType type = surroundings.options.queue_type;
  const bool is_dc = type == QueueType::dc;
  if (const Result<void> connected = connect_to_itself(**end, type); !connected) {
    return report.add(refused_call(route,
                                   is_dc ? "an initiator of DC, and a target for it"
                                         : "a queue pair that is connected to itself",
                                   connected.error()));
  }
  const std::optional<NicCounters> before = (*end)->counters();
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
  report.say(usable.name() + ": " + text + " us, every byte right" + (is_dc ? ", by DC" : ""));
  compare(route, before, (*end)->counters(), report);
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
