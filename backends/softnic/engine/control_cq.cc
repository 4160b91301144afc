// The control path: completion queues.
#include "backends/softnic/engine/engine.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMaxLogCqEntries = 22;

bool are_entries(DmaAddress place) {
  return place.value != 0 && place.value % sizeof(format::Cqe64) == 0;
}

Outcome<> check_cq(const CqAttributes& attributes) {
  if (attributes.log_entries > kMaxLogCqEntries) {
    return refusal(CommandSyndrome::create_cq_size, 0, attributes.log_entries);
  }
  if (!are_entries(attributes.entries)) return refusal(CommandSyndrome::create_cq_entries);
  const bool has_record = !attributes.overrun_ignore || attributes.uar != 0;
  if (!has_record) return {};
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
  UarUse* const page = uars_.find(attributes.uar, uid);
  if (attributes.uar != 0 && page == nullptr) {
    return refusal(CommandSyndrome::create_cq_uar, attributes.uar);
  }
  if (page != nullptr && page->type != UarType::registers) {
    return refusal(CommandSyndrome::create_cq_uar_type, attributes.uar);
  }
  const auto number = cqs_.take();
  if (!number) return refusal(CommandSyndrome::create_cq_numbers);
  auto made = std::make_unique<Cq>(*number, attributes, core_.port, options_.short_cqes);
  Cq& cq = cqs_.put(*number, uid, std::move(made));
  if (page != nullptr) {
    ++page->users;
    armable_.push_back(cq);
  }
  for (const MemoryRange& range : cq.memory()) core_.port.attach(range.base, range.length);
  return *number;
}

Outcome<CqInfo> Engine::query_cq(CqNumber cq, Uid uid) const {
  const Cq* const object = cqs_.find(cq, uid);
  if (object == nullptr) return refusal(CommandSyndrome::query_cq_absent, cq);
  return object->info();
}

Outcome<bool> Engine::resize_cq(CqNumber cq, const CqResize& to, Uid uid) {
  Cq* const object = cqs_.find(cq, uid);
  if (object == nullptr) return refusal(CommandSyndrome::resize_cq_absent, cq);
  if (to.log_entries > kMaxLogCqEntries) {
    return refusal(CommandSyndrome::resize_cq_size, cq, to.log_entries);
  }
  if (!are_entries(to.entries)) return refusal(CommandSyndrome::resize_cq_entries, cq);
  if (object->is_collapsed()) return refusal(CommandSyndrome::resize_cq_collapsed, cq);
  const MemoryRange before = object->entries();
  const Cq::Resized resized = object->resize(to);
  core_.activate(*object);  // an arm may have been read
  switch (resized) {
    case Cq::Resized::not_yet: return false;
    case Cq::Resized::full: return refusal(CommandSyndrome::resize_cq_full, cq);
    case Cq::Resized::too_small:
      return refusal(CommandSyndrome::resize_cq_too_small, cq, std::uint64_t{1} << to.log_entries);
    case Cq::Resized::moved: break;
  }
  const MemoryRange after = object->entries();
  core_.port.attach(after.base, after.length);
  remove({.memory = {before}});
  return true;
}

// What is held back already is looked at anew.
Outcome<> Engine::moderate_cq(CqNumber cq, const CqModeration& by, Uid uid) {
  Cq* const object = cqs_.find(cq, uid);
  if (object == nullptr) return refusal(CommandSyndrome::moderate_cq_absent, cq);
  object->moderate(by);
  core_.activate(*object);
  return {};
}

Outcome<> Engine::destroy_cq(CqNumber cq, Uid uid) {
  Cq* const object = cqs_.find(cq, uid);
  if (object == nullptr) return refusal(CommandSyndrome::destroy_cq_absent, cq);
  if (object->users != 0) return refusal(CommandSyndrome::destroy_cq_busy, cq);
  if (core_.active_cqs.holds(*object)) core_.active_cqs.remove(*object);
  if (armable_.holds(*object)) {
    armable_.remove(*object);
    --uars_.find(object->uar())->users;
  }
  remove({.memory = object->memory(), .cq = cqs_.remove(cq)});
  return {};
}

UarNumber Engine::uar_of_cq(CqNumber cq) const {
  const Cq* const found = cqs_.find(cq);
  return found == nullptr ? 0 : found->uar();
}

}  // namespace gdakit::softnic
