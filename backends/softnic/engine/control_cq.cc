// The control path: completion queues.
#include "backends/softnic/engine/engine.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMaxLogCqEntries = 22;

Outcome<> check_cq(const CqAttributes& attributes) {
  if (attributes.log_entries > kMaxLogCqEntries) {
    return refusal(CommandSyndrome::create_cq_size, 0, attributes.log_entries);
  }
  if (attributes.entries.value == 0 || attributes.entries.value % sizeof(format::Cqe64) != 0) {
    return refusal(CommandSyndrome::create_cq_entries);
  }
  if (attributes.overrun_ignore) return {};
  if (attributes.doorbell_record.value % 8 != 0) {
    return refusal(CommandSyndrome::create_cq_record_alignment);
  }
  if (attributes.doorbell_record.value == 0) return refusal(CommandSyndrome::create_cq_no_record);
  return {};
}

}  // namespace

Outcome<CqNumber> Engine::create_cq(const CqAttributes& attributes, Uid uid) {
  const Outcome<> checked = check_cq(attributes);
  if (!checked) return checked.status();
  const auto number = cqs_.take();
  if (!number) return refusal(CommandSyndrome::create_cq_numbers);
  auto cq = std::make_unique<Cq>(*number, attributes, core_.port, options_.short_cqes);
  const MemoryRange entries = cqs_.put(*number, uid, std::move(cq)).entries();
  core_.port.attach(entries.base, entries.length);
  return *number;
}

Outcome<> Engine::destroy_cq(CqNumber cq, Uid uid) {
  const Cq* object = cqs_.find(cq, uid);
  if (object == nullptr) return refusal(CommandSyndrome::destroy_cq_absent, cq);
  if (object->users != 0) return refusal(CommandSyndrome::destroy_cq_busy, cq);
  const MemoryRange entries = object->entries();
  remove({.memory = {entries}, .cq = cqs_.remove(cq)});
  return {};
}

}  // namespace gdakit::softnic
