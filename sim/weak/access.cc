// Loads, stores, read-modify-writes and fences.
#include <algorithm>
#include <utility>

#include "core/base/assert.h"
#include "sim/weak/memory.h"

namespace gdakit::sim::weak {
namespace {

// The bits of a granule's bytes.
std::uint64_t bits_of(std::uint8_t mask) {
  if (mask == 0xff) return ~std::uint64_t{0};
  std::uint64_t bits = 0;
  for (int byte = 0; byte < 8; ++byte) {
    if ((mask >> byte & 1) != 0) bits |= std::uint64_t{0xff} << (8 * byte);
  }
  return bits;
}

}  // namespace

bool Memory::morally_strong(const Party& one, const Party& other) const {
  if (one.agent == kNobody || other.agent == kNobody || one.agent == other.agent) return true;
  if (!one.strong || !other.strong) return false;
  const Place& place = agents_[one.agent].place;
  const Place& other_place = agents_[other.agent].place;
  if (!includes(place, one.scope, other_place) || !includes(other_place, other.scope, place)) {
    return false;
  }
  // A NIC's accesses are as wide as the bus makes them; what lies within one of them overlaps
  // whole.
  const auto both = static_cast<std::uint8_t>(one.mask | other.mask);
  return one.mask == other.mask ||
         ((place.device || other_place.device) && (both == one.mask || both == other.mask));
}

// Whether the write is known at `clock`: executed before, or read before by somebody.
bool Memory::happened(const Write& write, Clock clock) const {
  if (write.agent == kNobody || clock[write.agent] >= write.time) return true;
  if (write.seen == nullptr) return false;
  for (std::size_t i = 0; i < agent_count_; ++i) {
    if (write.seen[i] <= clock[i]) return true;
  }
  return false;
}

Slots Memory::known(const Granule& granule, Slots among, Clock clock) const {
  Slots found = 0;
  for (Slots rest = among; rest != 0; rest = without_first(rest)) {
    if (happened(granule.writes[first_slot(rest)], clock)) found |= slot_bit(first_slot(rest));
  }
  return found;
}

Memory::Sight Memory::sight(const Granule& granule, const Op& op, std::uint8_t mask) const {
  const Slots writes = overlapping(granule, mask);
  return {writes, known(granule, writes, op.clock)};
}

// What a load may return: all but what is older than something known.
Slots Memory::candidates(const Granule& granule, const Sight& sight) {
  return sight.writes & ~all_before(granule, sight.known);
}

// Picks one of `slots`; 0 is the newest.
std::uint32_t Memory::choose_write(const Granule& granule, Slots slots, AgentId agent) {
  GDAKIT_ASSERT(slots != 0);
  Agent& self = agents_[agent];
  const auto newest = [&](Slots among) {
    std::uint32_t best = kNoSlot;
    for (Slots rest = among; rest != 0; rest = without_first(rest)) {
      const std::uint32_t slot = first_slot(rest);
      if (all_after(granule, among, slot) != 0) continue;
      const bool newer = best == kNoSlot || granule.writes[slot].order > granule.writes[best].order;
      if (newer) best = slot;
    }
    return best;
  };
  if (without_first(slots) == 0) {
    self.stale_streak = 0;
    return first_slot(slots);
  }
  const auto count = static_cast<std::uint32_t>(std::popcount(slots));
  const bool may_be_stale = !self.fresh && self.stale_streak < options_.max_stale &&
                            self.stale_turns < options_.max_stale_turns;
  std::uint32_t picked = may_be_stale ? chooser_->choose(Choice::load, count) : 0;
  self.stale_streak = picked == 0 ? 0 : self.stale_streak + 1;
  self.stale_turn |= picked != 0;
  std::uint32_t slot = newest(slots);
  for (; picked != 0; --picked) {
    slots &= ~slot_bit(slot);
    slot = newest(slots);
  }
  return slot;
}

// The bytes of `mask`, which the same writes have touched.
Memory::Seen Memory::read_group(Granule& granule, const Op& op, std::uint8_t mask) {
  const Sight seen = sight(granule, op, mask);
  const std::uint32_t slot = choose_write(granule, candidates(granule, seen), op.agent);
  Write& write = granule.writes[slot];
  observe(op, seen, write);
  if (granule.open != 0) log_read(op, slot);
  take_heads(op, write);
  return {write.value & bits_of(mask), slot, all_after(granule, seen.writes, slot),
          seen.writes & ~seen.known};
}

Memory::Seen Memory::read(Granule& granule, const Op& op) {
  if (!is_mixed(granule, op.mask)) return read_group(granule, op, op.mask);
  Seen all;
  for (std::uint8_t left = op.mask; left != 0;) {
    const auto byte = static_cast<std::uint8_t>(left & -left);
    const Slots writes = overlapping(granule, byte);
    std::uint8_t group = 0;
    for (std::uint8_t rest = left; rest != 0; rest = static_cast<std::uint8_t>(rest & (rest - 1))) {
      const auto other = static_cast<std::uint8_t>(rest & -rest);
      if (overlapping(granule, other) == writes) group |= other;
    }
    const Seen seen = read_group(granule, op, group);
    all.value |= seen.value;
    all.unknown |= seen.unknown;
    const bool newest =
        all.slot == kNoSlot || granule.writes[seen.slot].order > granule.writes[all.slot].order;
    if (newest) all.slot = seen.slot;
    all.newer |= seen.newer;
    left = static_cast<std::uint8_t>(left & ~group);
  }
  return all;
}

// The agent has read `write`, so nothing that it knew may ever come after that. If they are morally
// strong, whoever knows of the read knows the write.
void Memory::observe(const Op& op, const Sight& sight, Write& write) {
  write.not_before |= sight.known;
  if (write.agent == kNobody || write.agent == op.agent || !morally_strong(op, write)) return;
  if (write.seen == nullptr) {
    write.seen = pool_.take<std::uint32_t>(stride_);
    std::fill_n(write.seen, stride_, ~std::uint32_t{0});
  }
  write.seen[op.agent] = std::min(write.seen[op.agent], op.time);
}

std::uint64_t Memory::load(AgentId agent, Address from, std::uint32_t size, const Access& access) {
  const Op op = make_op(agent, from, size, access);
  Agent& self = agents_[agent];
  if (self.open != 0) settle_place(op);
  (is_strong(access.sem) ? self.strong_turn : self.weak_turn) = true;
  Granule& granule = granule_at(op.granule);
  const Seen seen = read(granule, op);
  const Write& write = granule.writes[seen.slot];
  const std::uint64_t value = seen.value >> op.shift;
  std::uint32_t event = 0;
  if (trace_ != nullptr && !access.untraced) {
    event = trace_access(
        op, EventKind::load, value, 0, seen,
        write.agent == kNobody ? kReadInitial : static_cast<std::int32_t>(write.event));
    if (seen.newer != 0) explain_stale(granule, op, seen.newer, event);
  }
  if (options_.find_races && !access.speculative) {
    if (seen.unknown != 0) check_known(granule, op, seen.unknown, false, event);
    record_read(granule, op, event);
  }
  // Also what earlier reads of the place brought, whatever this one returned.
  if (acquires(access.sem)) {
    acquire_at(op, trace_ != nullptr ? &trace_->events[event].follows : nullptr);
  }
  return value;
}

void Memory::store(AgentId agent, Address to, std::uint32_t size, std::uint64_t value,
                   const Access& access) {
  const Op op = make_op(agent, to, size, access);
  Agent& self = agents_[agent];
  if (self.open != 0) settle_place(op);
  self.strong_turn = true;
  Granule& granule = granule_at(op.granule);
  make_room(granule);
  const HeadRange heads = heads_of_store(op, {});
  const std::uint32_t event =
      trace_ != nullptr ? trace_access(op, EventKind::store, value, 0, {}, kReadNothing) : 0;
  if (options_.find_races) check_write(granule, op, event);
  const std::uint32_t slot =
      place(granule, op, (value << op.shift) & bits_of(op.mask), kNoSlot, false, heads);
  granule.writes[slot].event = event;
}

std::uint64_t Memory::rmw(AgentId agent, Address at, std::uint32_t size, const Update& update,
                          const Access& access) {
  const Op op = make_op(agent, at, size, access);
  Agent& self = agents_[agent];
  if (self.open != 0) settle_place(op);
  self.strong_turn = true;
  return do_rmw(op, update, nullptr);
}

// Where others have written parts of it only, an update reads the newest of each part: what it may
// not overlook otherwise is not defined.
Memory::Seen Memory::read_for_update(Granule& granule, const Op& op, const Update& update) {
  if (is_mixed(granule, op.mask)) {
    Agent& self = agents_[op.agent];
    const bool fresh = std::exchange(self.fresh, true);
    const Seen seen = read(granule, op);
    self.fresh = fresh;
    return seen;
  }
  const Sight seen = sight(granule, op, op.mask);
  const Slots slots = rmw_candidates(granule, op, seen, update);
  const std::uint32_t slot = choose_write(granule, slots, op.agent);
  observe(op, seen, granule.writes[slot]);
  if (granule.open != 0) log_read(op, slot);
  take_heads(op, granule.writes[slot]);
  return {granule.writes[slot].value & bits_of(op.mask), slot,
          all_after(granule, seen.writes, slot), seen.writes & ~seen.known};
}

// `own_heads`: what the write carries by itself, for one that is settled late; null: as of now.
std::uint64_t Memory::do_rmw(const Op& op, const Update& update, const HeadRange* own_heads) {
  Granule& granule = granule_at(op.granule);
  make_room(granule);
  const Seen seen = read_for_update(granule, op, update);
  const std::uint32_t read_slot = seen.slot;
  const std::uint64_t old = seen.value >> op.shift;
  std::uint64_t fresh = old;
  const bool writes = update.apply(update, old, &fresh);
  fresh &= bits_of(op.mask) >> op.shift;

  const std::int32_t reads_from = granule.writes[read_slot].agent == kNobody
                                      ? kReadInitial
                                      : static_cast<std::int32_t>(granule.writes[read_slot].event);
  std::uint32_t event = 0;
  if (trace_ != nullptr) {
    event = trace_access(op, writes ? EventKind::rmw : EventKind::load, writes ? fresh : old, old,
                         seen, reads_from);
  }
  if (options_.find_races) check_write(granule, op, event);
  HeadRange inherited;
  if (morally_strong(op, granule.writes[read_slot])) inherited = granule.writes[read_slot].heads;
  if (acquires(op.access.sem) && !op.access.no_result) {
    acquire_at(op, trace_ != nullptr ? &trace_->events[event].follows : nullptr);
  }
  if (!writes) {
    if (options_.find_races) record_read(granule, op, event);
    return old;
  }
  const HeadRange heads =
      own_heads != nullptr ? merged_heads(*own_heads, inherited) : heads_of_store(op, inherited);
  const std::uint32_t slot = place(granule, op, fresh << op.shift, read_slot, true, heads);
  granule.writes[slot].event = event;
  return old;
}

void Memory::fence(AgentId agent, Sem sem, Scope scope, const Site* site) {
  make_op(agent, 0, 1, {.sem = sem});
  Agent& self = agents_[agent];
  if (acquires(sem) && self.open != 0) settle_for_acquire(agent, scope);
  std::vector<std::uint32_t> follows;
  std::uint32_t event = 0;
  if (trace_ != nullptr) event = static_cast<std::uint32_t>(trace_->events.size());
  if (acquires(sem)) acquire_pending(agent, scope, trace_ != nullptr ? &follows : nullptr);
  if (sem == Sem::sc) sc_fence(agent, scope);
  if (trace_ != nullptr) trace_fence(agent, sem, scope, site, std::move(follows));
  if (releases(sem)) release_fence(agent, scope, event);
}

}  // namespace gdakit::sim::weak
