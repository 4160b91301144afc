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
  if (id == 0) return nic.wrong_answer("ALLOC_Q_COUNTER", "0, which stands for no set of counters");
  return std::unique_ptr<CounterSet>(new CounterSet(nic, std::move(*object), id));
}

const NicCounters& CounterSet::read() {
  prm::Mailbox<prm::QueryQCounterIn> in;
  prm::Mailbox<prm::QueryQCounterOut> out;
  in.set(prm::QueryQCounterIn::counter_set_id, id_);
  if (!nic_.query(object_, prm::Opcode::query_q_counter, in, out)) return told_;
  for_each_q_counter([&](auto field, std::uint64_t QueueCounters::*counter) {
    const auto now = static_cast<std::uint32_t>(out.get(field));
    told_.*counter += now - static_cast<std::uint32_t>(told_.*counter);
  });
  return told_;
}

}  // namespace gdakit::mlx5
