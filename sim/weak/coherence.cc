// Where a write goes in the coherence order of its granule.
#include <algorithm>

#include "core/base/assert.h"
#include "sim/weak/memory.h"

namespace gdakit::sim::weak {

// Frees a slot for a write: no slot that is found afterwards may be evicted by it.
void Memory::make_room(Granule& granule) {
  const auto live = static_cast<std::uint32_t>(std::popcount(granule.live));
  // An open access may still return any of them.
  const std::uint32_t limit = granule.open != 0 ? kMaxSlots : options_.history;
  if (live >= limit) evict(granule);
  if (static_cast<std::uint32_t>(std::popcount(granule.live)) == granule.capacity) grow(granule);
}

// Forgets the oldest write that is older than others in every byte; if there is none and no slot is
// left, the oldest of all.
void Memory::evict(Granule& granule) {
  std::uint32_t oldest = kNoSlot;
  for (Slots rest = granule.live; rest != 0; rest = without_first(rest)) {
    const std::uint32_t slot = first_slot(rest);
    const Write& write = granule.writes[slot];
    if ((write.before & granule.live) != 0) continue;
    std::uint8_t covered = 0;
    for (Slots later = all_after(granule, granule.live, slot); later != 0;
         later = without_first(later)) {
      covered |= granule.writes[first_slot(later)].mask;
    }
    if ((write.mask & ~covered) != 0) continue;
    if (oldest == kNoSlot || write.order < granule.writes[oldest].order) oldest = slot;
  }
  if (oldest == kNoSlot) {
    if (static_cast<std::uint32_t>(std::popcount(granule.live)) < kMaxSlots) return;
    oldest = first_slot(granule.live);
  }
  granule.live &= ~slot_bit(oldest);
  for (Slots rest = granule.live; rest != 0; rest = without_first(rest)) {
    Write& write = granule.writes[first_slot(rest)];
    write.before &= ~slot_bit(oldest);
    write.not_before &= ~slot_bit(oldest);
    if (write.read == oldest) write.read = kNoSlot;
  }
}

std::uint32_t Memory::new_slot(Granule& granule) {
  const std::uint32_t slot = first_slot(~granule.live);
  GDAKIT_ASSERT(slot < granule.capacity);
  return slot;
}

// The writes that the coherence order must relate to a write by `op`, and that may come on either
// side of it.
Slots Memory::unordered_rivals(const Granule& granule, const Op& op, Slots required) const {
  Slots rivals = 0;
  for (Slots rest = overlapping(granule, op.mask) & ~required; rest != 0;
       rest = without_first(rest)) {
    if (morally_strong(op, granule.writes[first_slot(rest)])) rivals |= slot_bit(first_slot(rest));
  }
  return rivals;
}

// Whether all of `earlier` may come before all of `later`, and a write by *between, if there is
// one, between them. Both are given with what comes before or after them.
//  - Nobody may have read something in `earlier` and have known something in `later`.
//  - Between a read-modify-write and what it read there must be nothing that it is morally strong
//    with.
bool Memory::may_relate(const Granule& granule, Slots earlier, Slots later,
                        const Op* between) const {
  if ((earlier & later) != 0) return false;
  for (Slots rest = earlier; rest != 0; rest = without_first(rest)) {
    if ((granule.writes[first_slot(rest)].not_before & later) != 0) return false;
  }
  for (Slots rest = later; rest != 0; rest = without_first(rest)) {
    const Write& update = granule.writes[first_slot(rest)];
    // What it read may be forgotten: then it is older than everything.
    const bool forgotten = update.read == kNoSlot;
    if (!update.atomic || (!forgotten && (earlier & slot_bit(update.read)) == 0)) continue;
    if (between != nullptr && morally_strong(*between, update)) return false;
    const Slots newer = forgotten ? earlier : all_after(granule, earlier, update.read);
    for (Slots inside = (later & update.before) | (newer & ~update.before); inside != 0;
         inside = without_first(inside)) {
      if (morally_strong(granule.writes[first_slot(inside)], update)) return false;
    }
  }
  return true;
}

// What must come before a new write: what its agent knows, and what a read-modify-write read.
Slots Memory::required_before(const Granule& granule, const Op& op, std::uint32_t read) const {
  Slots required = known(granule, overlapping(granule, op.mask), op.clock);
  if (read != kNoSlot && morally_strong(op, granule.writes[read])) required |= slot_bit(read);
  return required | all_before(granule, required);
}

// All ways to put a new write among the writes that it must be ordered with: the first is the end
// of the order, and each of the others lies further in front. `read`: as for place().
Memory::Places Memory::find_places(const Granule& granule, const Op& op, std::uint32_t read) const {
  const Slots required = required_before(granule, op, read);
  const Slots rivals = unordered_rivals(granule, op, required);
  Places places;
  places.required = required;
  places.rivals = rivals;
  // Half-made placements: the rivals that are left, and those that are behind the new write.
  struct Half {
    Slots left, earlier, later;
  };
  std::array<Half, kMaxSlots + 1> stack;
  std::uint32_t depth = 0;
  stack[depth++] = {rivals, required, 0};
  while (depth != 0 && places.count < places.later.size()) {
    const Half half = stack[--depth];
    if (half.left == 0) {
      Slots between = 0;
      if (read != kNoSlot) between = all_after(granule, half.earlier, read);
      bool atomic = true;
      for (; between != 0; between = without_first(between)) {
        atomic = atomic && !morally_strong(op, granule.writes[first_slot(between)]);
      }
      if (atomic && may_relate(granule, half.earlier, half.later, &op)) {
        places.later[places.count++] = half.later;
      }
      continue;
    }
    std::uint32_t newest = first_slot(half.left);
    for (Slots rest = half.left; rest != 0; rest = without_first(rest)) {
      if (granule.writes[first_slot(rest)].order > granule.writes[newest].order) {
        newest = first_slot(rest);
      }
    }
    const Slots bit = slot_bit(newest);
    const Write& write = granule.writes[newest];
    const Slots behind = bit | all_after(granule, granule.live, newest);
    const bool follows_its_read =
        write.atomic && (write.read == kNoSlot || (half.earlier & slot_bit(write.read)) != 0);
    if ((behind & half.earlier) == 0 && !follows_its_read) {
      stack[depth++] = {half.left & ~behind, half.earlier, half.later | behind};
    }
    if ((half.later & (bit | write.before)) == 0) {
      stack[depth++] = {half.left & ~(bit | write.before), half.earlier | bit | write.before,
                        half.later};
    }
  }
  return places;
}

// Adds a write, which make_room() has made room for. `read`: the slot that a read-modify-write
// read.
std::uint32_t Memory::place(Granule& granule, const Op& op, std::uint64_t value, std::uint32_t read,
                            bool atomic, HeadRange heads) {
  const Places places = find_places(granule, op, read);
  GDAKIT_ASSERT(places.count != 0);
  const Slots later = places.later[chooser_->choose(Choice::position, places.count)];

  const std::uint32_t slot = new_slot(granule);
  Write& write = *new (&granule.writes[slot]) Write{};
  write.value = value;
  write.time = op.time;
  write.order = ++order_;
  write.heads = heads;
  write.read = atomic ? read : kNoSlot;
  write.agent = op.agent;
  write.mask = op.mask;
  write.strong = is_strong(op.access.sem);
  write.atomic = atomic;
  write.scope = op.access.scope;
  if (open_count_ != 0)
    write.clock = op.clock == agents_[op.agent].clock ? snapshot(op.clock) : op.clock;
  const Slots earlier = places.required | (places.rivals & ~later);
  write.before = (earlier | all_before(granule, earlier)) & granule.live;
  granule.live |= slot_bit(slot);
  if (later != 0) put_before(granule, slot, later);
  return slot;
}

// What a read-modify-write may read: as a load, if then there is a place for what it writes.
Slots Memory::rmw_candidates(const Granule& granule, const Op& op, const Sight& sight,
                             const Update& update) const {
  Slots found = candidates(granule, sight);
  if (without_first(found) == 0) return found;
  const std::uint64_t bits = ~std::uint64_t{0} >> (64 - 8 * std::popcount(op.mask));
  for (Slots rest = found; rest != 0; rest = without_first(rest)) {
    const std::uint32_t slot = first_slot(rest);
    const std::uint64_t old = granule.writes[slot].value >> op.shift & bits;
    std::uint64_t fresh = old;
    const bool possible =
        !update.apply(update, old, &fresh) || find_places(granule, op, slot).count != 0;
    if (!possible) found &= ~slot_bit(slot);
  }
  return found;
}

}  // namespace gdakit::sim::weak
