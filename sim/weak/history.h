// History: what was written to one granule of 8 bytes, and in which order.
//
//   slot 0: what was there at the beginning        before: {}
//   slot 1: store of agent 3, time 7, bytes 0xff   before: {0}
//   slot 2: store of agent 5, time 2, bytes 0xff   before: {0}      unordered with slot 1
//   slot 3: read-modify-write that read slot 1     before: {0, 1}
//
// The coherence order is partial: two writes are ordered if they are morally strong or if one
// happened before the other as far as its agent knew. `before` is transitive. Writes that share no
// byte are unrelated.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "sim/weak/accesses.h"

namespace gdakit::sim::weak {

// A set of slots.
using Slots = std::uint32_t;
inline constexpr std::uint32_t kMaxSlots = 32;
inline constexpr std::uint32_t kNoSlot = kMaxSlots;

constexpr Slots slot_bit(std::uint32_t slot) { return Slots{1} << slot; }
constexpr std::uint32_t first_slot(Slots slots) {
  return static_cast<std::uint32_t>(std::countr_zero(slots));
}
constexpr Slots without_first(Slots slots) { return slots & (slots - 1); }

// What an agent knew at some moment: the time of each agent's last known operation.
using Clock = const std::uint32_t*;

inline constexpr AgentId kNobody = std::numeric_limits<AgentId>::max();

// A range of release heads (heads.h).
struct HeadRange {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

struct Write {
  std::uint64_t value = 0;        // in place: byte i of the granule at bits 8i
  std::uint32_t time = 0;         // of its agent
  std::uint32_t order = 0;        // counts the executed writes
  std::uint32_t* seen = nullptr;  // [agent] time of the first morally strong read; null: none yet
  Clock clock = nullptr;          // what its agent knew; only while accesses are open (Later)
  HeadRange heads = {};
  Slots before = 0;
  Slots not_before = 0;          // known to somebody who read this write: they never come after it
  std::uint32_t event = 0;       // of the trace
  std::uint32_t read = kNoSlot;  // read-modify-writes: the slot read, if it is still there
  AgentId agent = kNobody;
  std::uint8_t mask = 0xff;  // bytes written
  bool strong = true;
  bool atomic = false;  // a read-modify-write
  Scope scope = Scope::system;
};

// An agent's last read of a granule, of one strength, for race detection.
struct Read {
  std::uint32_t time = 0;
  std::uint32_t event = 0;
  AgentId agent = kNobody;
  std::uint8_t mask = 0;
  bool strong = false;
  Scope scope = Scope::system;
};

struct Granule {
  std::uint64_t epoch = 0;  // of the execution that this belongs to
  Write* writes = nullptr;
  Read* reads = nullptr;
  Slots live = 0;
  std::uint16_t capacity = 0;  // of writes
  std::uint16_t read_count = 0;
  std::uint16_t read_capacity = 0;
  std::uint16_t open = 0;  // accesses that are still to be settled
};

// The live writes that touch a byte of `mask`.
inline Slots overlapping(const Granule& granule, std::uint8_t mask) {
  Slots found = 0;
  for (Slots rest = granule.live; rest != 0; rest = without_first(rest)) {
    const std::uint32_t slot = first_slot(rest);
    if ((granule.writes[slot].mask & mask) != 0) found |= slot_bit(slot);
  }
  return found;
}

// Whether some write touches a part of `mask` only.
inline bool is_mixed(const Granule& granule, std::uint8_t mask) {
  for (Slots rest = granule.live; rest != 0; rest = without_first(rest)) {
    const auto shared = static_cast<std::uint8_t>(granule.writes[first_slot(rest)].mask & mask);
    if (shared != 0 && shared != mask) return true;
  }
  return false;
}

// Everything that is before one of `slots`.
inline Slots all_before(const Granule& granule, Slots slots) {
  Slots found = 0;
  for (Slots rest = slots; rest != 0; rest = without_first(rest)) {
    found |= granule.writes[first_slot(rest)].before;
  }
  return found;
}

// The slots among `slots` that come after `slot`.
inline Slots all_after(const Granule& granule, Slots slots, std::uint32_t slot) {
  Slots found = 0;
  for (Slots rest = slots; rest != 0; rest = without_first(rest)) {
    if ((granule.writes[first_slot(rest)].before & slot_bit(slot)) != 0) {
      found |= slot_bit(first_slot(rest));
    }
  }
  return found;
}

// Everything that comes after one of `slots`.
inline Slots all_behind(const Granule& granule, Slots slots) {
  Slots found = 0;
  for (Slots rest = slots == 0 ? 0 : granule.live; rest != 0; rest = without_first(rest)) {
    if ((granule.writes[first_slot(rest)].before & slots) != 0) {
      found |= slot_bit(first_slot(rest));
    }
  }
  return found;
}

// Orders `slot`, whose `before` is set, before all of `later` and what comes after them.
inline void put_before(Granule& granule, std::uint32_t slot, Slots later) {
  const Slots gained = granule.writes[slot].before | slot_bit(slot);
  for (Slots rest = granule.live; rest != 0; rest = without_first(rest)) {
    Write& write = granule.writes[first_slot(rest)];
    const bool is_later =
        ((slot_bit(first_slot(rest)) | write.before) & later) != 0 && first_slot(rest) != slot;
    if (is_later) write.before |= gained;
  }
}

}  // namespace gdakit::sim::weak
