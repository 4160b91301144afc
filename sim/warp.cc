#include "sim/warp.h"

#include <bit>
#include <cstdio>
#include <utility>

#include "sim/scheduler.h"

namespace gdakit::sim {
namespace {

std::string hex(LaneMask mask) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%08x", mask);
  return text;
}

std::uint32_t first_lane(LaneMask mask) {
  return static_cast<std::uint32_t>(std::countr_zero(mask));
}

LaneMask lane_bit(std::uint32_t lane) { return LaneMask{1} << lane; }

std::string call_text(Operation operation, LaneMask mask) {
  return std::string(operation_name(operation)) + "(mask " + hex(mask) + ")";
}

}  // namespace

Warp::Warp(Scheduler& scheduler, std::vector<Thread*> lanes)
    : scheduler_(scheduler),
      threads_(std::move(lanes)),
      lanes_(static_cast<LaneMask>((std::uint64_t{1} << threads_.size()) - 1)) {}

std::uint64_t Warp::shuffle(Thread& self, LaneMask mask, std::uint64_t value,
                            std::uint32_t source) {
  if (source >= kWarpSize || (mask & lanes_ & lane_bit(source)) == 0) {
    fail(self, Operation::shuffle, mask,
         "takes the value of lane " + std::to_string(source) + ", which does not take part");
  }
  return collect(self, Operation::shuffle, mask, value, source);
}

LaneMask Warp::ballot(Thread& self, LaneMask mask, bool predicate) {
  return static_cast<LaneMask>(collect(self, Operation::ballot, mask, predicate, 0));
}

LaneMask Warp::match_any(Thread& self, LaneMask mask, std::uint64_t value) {
  return static_cast<LaneMask>(collect(self, Operation::match_any, mask, value, 0));
}

void Warp::sync(Thread& self, LaneMask mask) { collect(self, Operation::sync_warp, mask, 0, 0); }

std::uint64_t Warp::collect(Thread& self, Operation operation, LaneMask mask, std::uint64_t value,
                            std::uint32_t source) {
  mask &= lanes_;
  check_mask(self, operation, mask);
  Slot& slot = slots_[self.lane()];
  slot.in = value;
  slot.source = source;
  const std::uint32_t index = find_or_open(self, operation, mask);
  open_[index].arrived |= self.lane_bit();
  if (open_[index].arrived != mask) {
    wait(self, operation, mask);
    return slot.out;
  }
  open_[index] = open_[--open_count_];
  compute(operation, mask);
  wake(mask & ~self.lane_bit());
  return slot.out;
}

void Warp::check_mask(const Thread& self, Operation operation, LaneMask mask) {
  if ((mask & self.lane_bit()) == 0) {
    fail(self, operation, mask, "does not name the calling lane");
  }
  if ((mask & exited_) != 0) {
    fail(self, operation, mask, "names lanes that have ended: " + hex(mask & exited_));
  }
}

std::uint32_t Warp::find_or_open(const Thread& self, Operation operation, LaneMask mask) {
  for (std::uint32_t i = 0; i != open_count_; ++i) {
    if (open_[i].mask != mask) continue;
    if (open_[i].operation != operation) {
      fail(self, operation, mask,
           "meets lanes " + hex(open_[i].arrived) + ", which wait in " +
               call_text(open_[i].operation, mask));
    }
    return i;
  }
  open_[open_count_] = {mask, operation, 0};
  return open_count_++;
}

void Warp::compute(Operation operation, LaneMask mask) {
  if (operation == Operation::match_any) return compute_matches(mask);
  if (operation == Operation::sync_warp) return;
  LaneMask votes = 0;
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    if (operation == Operation::shuffle) slots_[lane].out = slots_[slots_[lane].source].in;
    if (slots_[lane].in != 0) votes |= lane_bit(lane);
  }
  if (operation != Operation::ballot) return;
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) slots_[first_lane(rest)].out = votes;
}

void Warp::compute_matches(LaneMask mask) {
  for (LaneMask unmatched = mask; unmatched != 0;) {
    const std::uint64_t value = slots_[first_lane(unmatched)].in;
    LaneMask equal = 0;
    for (LaneMask rest = unmatched; rest != 0; rest &= rest - 1) {
      if (slots_[first_lane(rest)].in == value) equal |= lane_bit(first_lane(rest));
    }
    for (LaneMask rest = equal; rest != 0; rest &= rest - 1) slots_[first_lane(rest)].out = equal;
    unmatched &= ~equal;
  }
}

LaneMask Warp::active_mask(Thread& self, CallSite site) {
  if (live() == self.lane_bit()) return self.lane_bit();
  Slot& slot = slots_[self.lane()];
  if (Gathering* gathering = find_gathering(site); gathering != nullptr) {
    gathering->arrived |= self.lane_bit();
    wait(self, Operation::active_mask, 0);
    return static_cast<LaneMask>(slot.out);
  }
  gatherings_[gathering_count_++] = {site, self.lane_bit()};
  scheduler_.yield(self, Reason::gather);
  Gathering* const gathering = find_gathering(site);  // others may have moved it
  const LaneMask arrived = gathering->arrived;
  *gathering = gatherings_[--gathering_count_];
  for (LaneMask rest = arrived; rest != 0; rest &= rest - 1) slots_[first_lane(rest)].out = arrived;
  wake(arrived & ~self.lane_bit());
  return arrived;
}

Warp::Gathering* Warp::find_gathering(CallSite site) {
  for (std::uint32_t i = 0; i != gathering_count_; ++i) {
    if (gatherings_[i].site == site) return &gatherings_[i];
  }
  return nullptr;
}

void Warp::exit(Thread& self) {
  exited_ |= self.lane_bit();
  for (std::uint32_t i = 0; i != open_count_; ++i) {
    if ((open_[i].mask & self.lane_bit()) == 0) continue;
    fail(self, open_[i].operation, open_[i].mask,
         "in which lanes " + hex(open_[i].arrived) + " wait, names this lane, which has ended");
  }
}

void Warp::wait(Thread& self, Operation operation, LaneMask mask) {
  self.waits_in = operation;
  self.waits_mask = mask;
  scheduler_.yield(self, Reason::blocked);
}

void Warp::wake(LaneMask lanes) {
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    Thread& thread = *threads_[first_lane(rest)];
    thread.waits_in = Operation::none;
    scheduler_.wake(thread);
  }
}

std::string Warp::describe() const {
  const std::string place = "\n  warp " + std::to_string(threads_[0]->warp_index()) + ": lanes ";
  std::string text;
  LaneMask told = 0;
  for (const Thread* thread : threads_) {
    if (thread->waits_in == Operation::none || (told & thread->lane_bit()) != 0) continue;
    LaneMask together = 0;
    for (const Thread* other : threads_) {
      const bool same =
          other->waits_in == thread->waits_in && other->waits_mask == thread->waits_mask;
      if (same) together |= other->lane_bit();
    }
    told |= together;
    text += place + hex(together) + " wait in ";
    if (thread->waits_in == Operation::sync_block) {
      text += "sync_block";
    } else {
      text += call_text(thread->waits_in, thread->waits_mask) + " for lanes " +
              hex(thread->waits_mask & ~together);
    }
  }
  if (exited_ != 0) text += place + hex(exited_) + " have ended";
  return text;
}

void Warp::fail(const Thread& self, Operation operation, LaneMask mask, const std::string& what) {
  scheduler_.fail("block " + std::to_string(self.block_index) + " warp " +
                  std::to_string(self.warp_index()) + " lane " + std::to_string(self.lane()) +
                  ": " + call_text(operation, mask) + " " + what);
}

}  // namespace gdakit::sim
