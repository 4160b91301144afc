#include "tools/counter_rates.h"

#include <algorithm>
#include <unordered_map>

namespace gdakit::tools {
namespace {

// Counters of both levels, by the rows that they have.
template <class Counters>
Counters counted_between(const Counters& before, const Counters& now, bool is_nic) {
  Counters counted = now;
  for (const CounterRow& row : counter_table()) {
    if (!is_nic && row.of == CounterOf::nic) continue;
    const auto member = static_cast<std::uint64_t Counters::*>(row.member);
    const std::uint64_t then = before.*member;
    if (then <= now.*member) counted.*member -= then;
  }
  return counted;
}

}  // namespace

CounterRates rates_between(const PeCounters& before, const PeCounters& now) {
  CounterRates rates{0, now};
  const bool goes_on = before.started_ms == now.started_ms && before.sampled_ms <= now.sampled_ms;
  const std::uint64_t since = goes_on ? before.sampled_ms : now.started_ms;
  rates.seconds = static_cast<double>(now.sampled_ms - std::min(since, now.sampled_ms)) / 1000;
  if (!goes_on) return rates;
  rates.counted.nic = counted_between(before.nic, now.nic, true);
  std::unordered_map<QueueNumber, const QueueCounters*> then;
  for (const PeCounters::Queue& queue : before.queues) then.emplace(queue.number, &queue.counters);
  for (PeCounters::Queue& queue : rates.counted.queues) {
    const auto found = then.find(queue.number);
    if (found == then.end()) continue;
    queue.counters = counted_between(*found->second, queue.counters, false);
  }
  return rates;
}

}  // namespace gdakit::tools
