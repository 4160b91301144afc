// What a trace says of accesses and fences, and why something was not ordered.
#include "sim/weak/memory.h"

namespace gdakit::sim::weak {
namespace {

const char* sem_name(Sem sem) {
  switch (sem) {
    case Sem::weak: return "weak";
    case Sem::relaxed: return "relaxed";
    case Sem::acquire: return "acquire";
    case Sem::release: return "release";
    case Sem::acq_rel: return "acq_rel";
    case Sem::sc: return "sc";
  }
  return "";
}

const char* scope_name(Scope scope) {
  switch (scope) {
    case Scope::block: return "block";
    case Scope::gpu: return "gpu";
    default: return "system";
  }
}

const char* kind_name(EventKind kind) {
  switch (kind) {
    case EventKind::load: return "load";
    case EventKind::store: return "store";
    default: return "rmw";
  }
}

std::string strength(Sem sem, Scope scope) {
  const std::string name = std::string(".") + sem_name(sem);
  return is_strong(sem) ? name + "." + scope_name(scope) : name;
}

}  // namespace

void Memory::put_site(Event& event, const Site* site) {
  if (site == nullptr) return;
  event.order = site->name;
  event.file = site->file;
  event.line = site->line;
  event.of_user = event.call == kNoCall && event.line != 0 && !site->of_protocol;
}

void Memory::begin_call(AgentId agent, Event call) {
  if (trace_ == nullptr) return;
  call.lane = agents_[agent].lane;
  call.kind = EventKind::call;
  call.of_user = true;
  agents_[agent].call = static_cast<std::int32_t>(note(std::move(call)));
}

bool Memory::traced_before(std::uint32_t first, std::uint32_t then) const {
  const Traced& earlier = traced_.at(first);
  return traced_.at(then).clock[earlier.agent] >= earlier.time;
}

std::string Memory::why_not_before(std::uint32_t first, std::uint32_t then) const {
  const Traced& earlier = traced_.at(first);
  return missing_order(earlier.agent, earlier.time, traced_.at(then).agent);
}

std::uint32_t Memory::note(Event event) {
  if (trace_ == nullptr) return 0;
  trace_->events.push_back(std::move(event));
  return static_cast<std::uint32_t>(trace_->events.size() - 1);
}

std::uint32_t Memory::trace_access(const Op& op, EventKind kind, std::uint64_t value,
                                   std::uint64_t old, const Seen& seen, std::int32_t reads_from) {
  const bool device = agents_[op.agent].place.device;
  Event event;
  event.lane = agents_[op.agent].lane;
  event.kind =
      !device ? kind : (kind == EventKind::load ? EventKind::dma_read : EventKind::dma_write);
  event.what =
      (device ? "dma " : "") + (kind_name(kind) + strength(op.access.sem, op.access.scope));
  const Address address = op.granule * 8 + op.shift / 8;
  const PlaceFacts facts = names_.facts(address);
  event.where = names_.place(address);
  event.part = facts.part;
  event.call = agents_[op.agent].call;
  put_site(event, op.access.site);
  event.of_user = event.of_user || facts.of_user;
  event.bytes = static_cast<std::uint32_t>(std::popcount(op.mask));
  event.value = value;
  event.old_value = old;
  event.reads_from = reads_from;
  event.stale_by = static_cast<std::uint32_t>(std::popcount(seen.newer));
  const std::uint32_t index = note(std::move(event));
  traced_.resize(index + 1);
  traced_[index] = {op.agent, op.time, snapshot(op.clock)};
  return index;
}

void Memory::trace_fence(AgentId agent, Sem sem, Scope scope, const Site* site,
                         std::vector<std::uint32_t> follows) {
  Event event{.lane = agents_[agent].lane, .kind = EventKind::fence};
  event.what = "fence" + strength(sem, scope);
  event.call = agents_[agent].call;
  put_site(event, site);
  event.follows = std::move(follows);
  note(std::move(event));
}

// A read returned something older than the writes `newer`: why did it not have to see the newest?
void Memory::explain_stale(const Granule& granule, const Op& op, Slots newer, std::uint32_t event) {
  std::uint32_t newest = first_slot(newer);
  for (Slots rest = newer; rest != 0; rest = without_first(rest)) {
    if (granule.writes[first_slot(rest)].order > granule.writes[newest].order) {
      newest = first_slot(rest);
    }
  }
  const Write& write = granule.writes[newest];
  trace_->missing.push_back(
      {write.event, event,
       names_.agent(op.agent) + " may read an old value of " +
           names_.place(op.granule * 8 + op.shift / 8) + ", although " + names_.agent(write.agent) +
           " has written a newer one: " + missing_order(write.agent, write.time, op.agent) + "."});
}

// Why `reader` does not know of what `writer` did at `time`.
std::string Memory::missing_order(AgentId writer, std::uint32_t time, AgentId reader) const {
  for (const Pending& pending : agents_[reader].pending) {
    if (pending.head.clock[writer] < time) continue;
    return names_.agent(reader) +
           " has read what a release carries that covers it, but no acquire "
           "with a wide enough "
           "scope follows that read";
  }
  const Head* narrow = nullptr;
  for (const Head& head : heads_) {
    if (head.clock[writer] < time) continue;
    if (reaches(head, reader)) {
      return "a release follows it, but " + names_.agent(reader) +
             " has not read anything that was written behind that release";
    }
    narrow = &head;
  }
  if (narrow != nullptr) {
    return "the release that covers it has scope " + std::string(scope_name(narrow->scope)) +
           ", which does not reach " + names_.agent(reader);
  }
  return "no release by " + names_.agent(writer) + " follows it";
}

}  // namespace gdakit::sim::weak
