#include "backends/mlx5/counter_set.h"

#include "core/host/q_counters.h"

namespace gdakit::mlx5 {

namespace prm = format::prm;

Result<std::unique_ptr<CounterSet>> CounterSet::make(const OpenNic& nic) {
  prm::Mailbox<prm::MboxIn> in;
  prm::Mailbox<prm::AllocQCounterOut> out;
  Result<DevxObject> object = nic.create(prm::Opcode::alloc_q_counter, in, out);
  if (!object) return object.error();
  const auto id = static_cast<std::uint8_t>(out.get(prm::AllocQCounterOut::counter_set_id));
  return std::unique_ptr<CounterSet>(new CounterSet(nic, std::move(*object), id));
}

NicCounters CounterSet::read() const {
  prm::Mailbox<prm::QueryQCounterIn> in;
  prm::Mailbox<prm::QueryQCounterOut> out;
  in.set(prm::QueryQCounterIn::counter_set_id, id_);
  NicCounters counters;
  if (!nic_.query(object_, prm::Opcode::query_q_counter, in, out)) return counters;
  for_each_q_counter([&](auto field, std::uint64_t QueueCounters::*counter) {
    counters.*counter = out.get(field);
  });
  return counters;
}

}  // namespace gdakit::mlx5
