// Accesses that are settled later than their place in the program: load buffering.
//
// A load that is open has a place and a clock, but no value yet. When it is settled, writes that
// were executed meanwhile may be read, too, unless they came to be because of it (their agent knew
// of it). What others did meanwhile must fit: reads that knew of this one were not older than what
// it now returns.
#include <algorithm>

#include "core/base/assert.h"
#include "sim/weak/memory.h"

namespace gdakit::sim::weak {

// An access to parts that were written one by one is settled at once: one write alone is to give
// its value later.
bool Memory::may_defer(Address at, std::uint32_t size, const Access& access) {
  if (acquires(access.sem) || !options_.deferral) return false;
  const auto mask = static_cast<std::uint8_t>(((1u << size) - 1) << at % 8);
  return !is_mixed(granule_at(at / 8), mask) && chooser_->choose(Choice::defer, 2) != 0;
}

Later Memory::load_later(AgentId agent, Address from, std::uint32_t size, const Access& access) {
  if (!may_defer(from, size, access)) return settled_now(load(agent, from, size, access));
  const Op op = make_op(agent, from, size, access);
  (is_strong(access.sem) ? agents_[agent].strong_turn : agents_[agent].weak_turn) = true;
  return open_later(op, {}, false);
}

Later Memory::rmw_later(AgentId agent, Address at, std::uint32_t size, const Update& update,
                        const Access& access) {
  if (!may_defer(at, size, access)) return settled_now(rmw(agent, at, size, update, access));
  const Op op = make_op(agent, at, size, access);
  agents_[agent].strong_turn = true;
  return open_later(op, update, true);
}

Later Memory::settled_now(std::uint64_t value) {
  Open open{};
  open.value = value;
  open.settled = true;
  laters_.push_back(open);
  return {static_cast<std::uint32_t>(laters_.size() - 1)};
}

Later Memory::open_later(const Op& op, const Update& update, bool is_rmw) {
  Agent& self = agents_[op.agent];
  if (self.open != 0) settle_place(op);
  Open open{.op = op, .update = update, .heads = {}, .is_rmw = is_rmw};
  if (is_rmw) open.heads = heads_of_store(op, {});
  open.op.clock = snapshot(op.clock);
  laters_.push_back(open);
  ++self.open;
  ++open_count_;
  if (is_rmw) ++open_rmws_;
  ++granule_at(op.granule).open;
  return {static_cast<std::uint32_t>(laters_.size() - 1)};
}

std::uint64_t Memory::settle(Later later) {
  settle_open(later.id);
  return laters_[later.id].value;
}

void Memory::settle_all(AgentId agent) {
  for (std::uint32_t i = 0; agents_[agent].open != 0; ++i) {
    if (laters_[i].op.agent == agent) settle_open(i);
  }
}

void Memory::settle_all() {
  for (std::uint32_t i = 0; open_count_ != 0; ++i) settle_open(i);
}

// An agent finds its own read-modify-writes, and an acquire takes up what earlier strong reads of
// the place bring. Loads may stay open: what the agent writes meanwhile follows them.
void Memory::settle_place(const Op& op) {
  const bool acquire = acquires(op.access.sem) && !op.access.no_result;
  for (std::uint32_t i = 0; i < laters_.size() && agents_[op.agent].open != 0; ++i) {
    const Open& open = laters_[i];
    if (open.settled || open.op.agent != op.agent || open.op.granule != op.granule) continue;
    if (open.is_rmw || (acquire && is_strong(open.op.access.sem))) settle_open(i);
  }
}

// An acquire fence takes up what strong reads bring, unless nobody is in its scope.
void Memory::settle_for_acquire(AgentId agent, Scope scope) {
  bool alone = true;
  for (std::size_t other = 0; other < agent_count_; ++other) {
    alone =
        alone && (other == agent || !includes(agents_[agent].place, scope, agents_[other].place));
  }
  for (std::uint32_t i = 0; i < laters_.size() && !alone && agents_[agent].open != 0; ++i) {
    const Open& open = laters_[i];
    const bool brings = is_strong(open.op.access.sem) && !open.op.access.no_result;
    if (!open.settled && open.op.agent == agent && brings) settle_open(i);
  }
}

// Whoever knows of a read-modify-write must find its write.
void Memory::settle_rmws_known(Clock clock) {
  for (std::uint32_t i = 0; i < laters_.size() && open_rmws_ != 0; ++i) {
    const Op& op = laters_[i].op;
    if (laters_[i].is_rmw && !laters_[i].settled && clock[op.agent] >= op.time) settle_open(i);
  }
}

void Memory::settle_open(std::uint32_t id) {
  if (laters_[id].settled) return;
  laters_[id].settled = true;
  const Open open = laters_[id];
  const Op& op = open.op;
  Granule& granule = granule_at(op.granule);
  laters_[id].value = open.is_rmw ? do_rmw(op, open.update, &open.heads) : settle_load(op);
  --granule.open;
  --agents_[op.agent].open;
  --open_count_;
  if (open.is_rmw) --open_rmws_;
}

std::uint64_t Memory::settle_load(const Op& op) {
  Granule& granule = granule_at(op.granule);
  const Sight before = sight(granule, op, op.mask);
  const Slots slots = later_candidates(granule, op, before);
  const std::uint32_t slot = choose_write(granule, slots, op.agent);
  Write& write = granule.writes[slot];
  const Slots followers = followers_of(granule, op);
  const Slots unknown = before.writes & ~before.known & ~followers;
  observe(op, before, write);
  if (morally_strong(op, write)) {
    put_before(granule, slot, followers);
    for (const LoggedRead& read : logged_) {
      const bool knows = read.granule == op.granule && read.clock[op.agent] >= op.time;
      if (knows && read.slot != slot) granule.writes[read.slot].not_before |= slot_bit(slot);
    }
  }
  log_read(op, slot);
  const Seen seen{write.value, slot, all_after(granule, before.writes, slot), unknown};
  const std::uint64_t value =
      write.value >> op.shift & (~std::uint64_t{0} >> (64 - 8 * std::popcount(op.mask)));
  std::uint32_t event = 0;
  if (trace_ != nullptr) {
    event = trace_access(
        op, EventKind::load, value, 0, seen,
        write.agent == kNobody ? kReadInitial : static_cast<std::int32_t>(write.event));
    trace_->events[event].what += " (settled late)";
  }
  if (options_.find_races && !op.access.speculative) {
    if (unknown != 0) check_known(granule, op, unknown, false, event);
    record_read(granule, op, event);
  }
  take_heads(op, write);
  return value;
}

// The writes that came to be because of the access.
Slots Memory::followers_of(const Granule& granule, const Op& op) const {
  Slots found = 0;
  for (Slots rest = overlapping(granule, op.mask); rest != 0; rest = without_first(rest)) {
    const Write& write = granule.writes[first_slot(rest)];
    if (write.agent == kNobody || write.clock == nullptr) continue;
    if (write.clock[op.agent] >= op.time) found |= slot_bit(first_slot(rest));
  }
  return found;
}

Slots Memory::later_candidates(const Granule& granule, const Op& op, const Sight& sight) const {
  Slots found = 0;
  const Slots slots = candidates(granule, sight) & ~followers_of(granule, op);
  for (Slots rest = slots; rest != 0; rest = without_first(rest)) {
    const std::uint32_t slot = first_slot(rest);
    const bool covers = (granule.writes[slot].mask & op.mask) == op.mask;
    if (covers && consistent(granule, op, slot)) found |= slot_bit(slot);
  }
  return found;
}

// Whether the open load may return `slot`, given what others have done since. Once read here, the
// write is known to whoever knows of this access.
bool Memory::consistent(const Granule& granule, const Op& op, std::uint32_t slot) const {
  if (!morally_strong(op, granule.writes[slot])) return true;
  const Slots older = granule.writes[slot].before;
  const Slots followers = followers_of(granule, op);
  const Slots behind = followers | all_behind(granule, followers);
  if (behind != 0 && !may_relate(granule, older | slot_bit(slot), behind, nullptr)) return false;
  for (const LoggedRead& read : logged_) {
    const bool stale = read.granule == op.granule && (older & slot_bit(read.slot)) != 0;
    if (stale && read.clock[op.agent] >= op.time) return false;
  }
  return true;
}

void Memory::log_read(const Op& op, std::uint32_t slot) {
  logged_.push_back({op.granule, op.agent, snapshot(op.clock), slot});
}

}  // namespace gdakit::sim::weak
