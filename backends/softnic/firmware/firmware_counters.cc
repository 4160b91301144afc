// Commands of sets of counters.
#include "backends/softnic/firmware/firmware.h"
#include "core/format/prm/counters.h"
#include "core/host/q_counters.h"

namespace gdakit::softnic {

using namespace format;

namespace {

void write_counters(const QueueCounters& counters,
                    prm::View<prm::QueryQCounterOut, std::uint8_t> out) {
  for_each_q_counter([&](auto field, std::uint64_t QueueCounters::*counter) {
    out.set(field, static_cast<std::uint32_t>(counters.*counter));
  });
}

}  // namespace

Status Firmware::alloc_q_counter(In in, Out out) {
  const Outcome<CounterSet> set = counter_sets_.alloc(uid_of(in));
  if (!set) return set.status();
  prm::View<prm::AllocQCounterOut, std::uint8_t>(out).set(prm::AllocQCounterOut::counter_set_id,
                                                          *set);
  return {};
}

Status Firmware::dealloc_q_counter(In in, Out) {
  const auto set =
      prm::View<prm::DeallocQCounterIn>(in).get(prm::DeallocQCounterIn::counter_set_id);
  return counter_sets_.dealloc(static_cast<CounterSet>(set), uid_of(in)).status();
}

// Of several sets together (aggregate) nothing is told.
Status Firmware::query_q_counter(In in, Out out) {
  using prm::QueryQCounterIn;
  const prm::View<QueryQCounterIn> request(in);
  const auto set = static_cast<CounterSet>(request.get(QueryQCounterIn::counter_set_id));
  if (request.get(QueryQCounterIn::other_vport) != 0) {
    return refusal(CommandSyndrome::mailbox_function);
  }
  if (request.get(QueryQCounterIn::aggregate) != 0 || set == 0) {
    return refusal(CommandSyndrome::mailbox_counter_set_absent, set);
  }
  const Uid uid = uid_of(in);
  const Outcome<> found = counter_sets_.find(set, uid);
  if (!found) return found.status();
  const auto counted = [&](QpNumber qpn) { return *engine_.query_counters(qpn, uid); };
  write_counters(counter_sets_.counted(set, counted),
                 prm::View<prm::QueryQCounterOut, std::uint8_t>(out));
  if (request.get(QueryQCounterIn::clear) != 0) counter_sets_.clear(set, counted);
  return {};
}

void Firmware::join_counter_set(CounterSet set, QpNumber qpn, Uid uid) {
  counter_sets_.join(set, qpn, *engine_.query_counters(qpn, uid));
}

}  // namespace gdakit::softnic
