#include "tests/litmus/buffering.h"

#include <limits>

namespace gdakit::sim::litmus {
namespace {

using Kind = PathEvent::Kind;

// Whoever looks at the final state is in no thread's block or GPU.
constexpr weak::Place kElsewhere{.block = std::numeric_limits<std::uint32_t>::max(),
                                 .gpu = std::numeric_limits<std::uint32_t>::max()};

bool is_update(const PathEvent& event) {
  return writes(*event.instruction) && reads(*event.instruction);
}

}  // namespace

Needs Buffering::needs() const {
  Needs needs;
  needs.buffering = !runs_in_order();
  if (!needs.buffering || runs(kAllLimits)) return needs;
  while (!runs(kAllLimits & ~kCauses[needs.cause].lifted)) ++needs.cause;
  needs.within = false;
  return needs;
}

// The order that no lateness changes: reads-from, dependencies, barriers, fence.sc. `node` gets the
// event in whose place each one stands: barriers that end each other are one step.
Relation Buffering::fixed_order(std::vector<std::uint32_t>& node) const {
  Relation order = before_;
  for (std::uint32_t event = 0; event < candidate_.count_; ++event) {
    node.push_back(event);
    for (std::uint32_t other = 0; other < event && node[event] == event; ++other) {
      if (before_.has(event, other) && before_.has(other, event)) node[event] = node[other];
    }
    const std::uint32_t first = candidate_.first_event_[candidate_.events_[event].thread];
    for_each(candidate_.events_[event].is->depends_on << first,
             [&](std::uint32_t needed) { order.add(needed, event); });
  }
  for_each(candidate_.reads_, [&](std::uint32_t read) {
    const std::uint32_t source = candidate_.source_[read];
    if (source != kInitial) order.add(source, read);
  });
  return order;
}

bool Buffering::is_acyclic(const Relation& order, const std::vector<std::uint32_t>& node) const {
  Relation steps;
  for (std::uint32_t event = 0; event < candidate_.count_; ++event) {
    for_each(order.after[event], [&](std::uint32_t later) {
      if (node[event] != node[later]) steps.add(node[event], node[later]);
    });
  }
  steps.close(candidate_.count_);
  return steps.is_acyclic(candidate_.count_);
}

bool Buffering::runs_in_order() const {
  std::vector<std::uint32_t> node;
  Relation order = fixed_order(node);
  for (std::uint32_t event = 0; event < candidate_.count_; ++event) {
    order.after[event] |= candidate_.program_order_.after[event];
  }
  return is_acyclic(order, node);
}

// Whether there is an order to execute everything in, each read as late as `kept` lets it be.
bool Buffering::runs(LimitSet kept) const {
  const bool values_at_once = (kept & limit_bit(Limit::operand)) != 0;
  std::vector<std::uint32_t> node;
  Relation order = fixed_order(node);
  Events late = candidate_.reads_;
  for_each(candidate_.reads_, [&](std::uint32_t read) {
    const std::uint32_t half = candidate_.half_[read];
    if (half == kInitial) return;
    late |= event_bit(half);
    if (values_at_once) node[half] = node[read];
  });
  for (std::uint32_t event = 0; event < candidate_.count_; ++event) {
    // A write that may wait for its value does not hold up what follows.
    const bool waits = !values_at_once && candidate_.is_write(event) &&
                       candidate_.events_[event].is->depends_on != 0;
    const bool in_order = !waits && (late >> event & 1) == 0;
    if (in_order) order.after[event] |= candidate_.program_order_.after[event];
  }
  for_each(candidate_.reads_, [&](std::uint32_t read) { add_late(order, read, kept); });
  return is_acyclic(order, node);
}

// What comes after the moment at which a read, as late as can be, takes effect.
void Buffering::add_late(Relation& order, std::uint32_t read, LimitSet kept) const {
  const std::uint32_t end = end_of_thread(read);
  Events after = 0;
  for (std::uint32_t event = settled_at(read, kept); event < end; ++event) {
    after |= event_bit(event);
  }
  const bool update = is_update(*candidate_.events_[read].is);
  if (update && (kept & limit_bit(Limit::known_update)) != 0) {
    for_each(base_.after[read], [&](std::uint32_t event) {
      if (candidate_.events_[event].thread != candidate_.events_[read].thread) {
        after |= event_bit(event);
      }
    });
  }
  order.after[read] |= after;
  if (candidate_.half_[read] != kInitial) order.after[candidate_.half_[read]] |= after;
}

// The first event of its thread that the read must precede.
std::uint32_t Buffering::settled_at(std::uint32_t read, LimitSet kept) const {
  const bool has_half = candidate_.half_[read] != kInitial;
  const std::uint32_t next = read + (has_half ? 2 : 1);
  const std::uint32_t end = end_of_thread(read);
  const Instruction& instruction = *candidate_.events_[read].is->instruction;
  const bool acquires = (kept & limit_bit(Limit::acquire)) != 0 && weak::acquires(instruction.sem);
  const bool for_nothing =
      (kept & limit_bit(Limit::sc_order)) != 0 && !writes_before_use(read, kept);
  if (acquires || for_nothing) return next;
  for (std::uint32_t event = next; event < end; ++event) {
    if (settles(read, event, kept)) return event;
  }
  return end;
}

// Whether a later event of its thread ends the lateness of a read.
bool Buffering::settles(std::uint32_t read, std::uint32_t event, LimitSet kept) const {
  const auto keeps = [kept](Limit limit) { return (kept & limit_bit(limit)) != 0; };
  const PathEvent& late = *candidate_.events_[read].is;
  const PathEvent& here = *candidate_.events_[event].is;
  const bool access = here.kind == Kind::read || here.kind == Kind::write;
  const bool at_place = access && candidate_.same_place(read, event);
  const bool takes_up = late.strong && late.returns && here.acquire;
  const bool taken_up = here.kind == Kind::fence ? fence_settles(event) : at_place && here.returns;
  if (keeps(Limit::behind_acquire) && takes_up && taken_up) return true;
  if (keeps(Limit::own_place) && is_update(late) && at_place) return true;
  if (keeps(Limit::known_update) && is_update(late) && knows_again(read, event)) return true;
  return keeps(Limit::operand) && uses(event, read);
}

// Whether anybody else is in the scope of the fence.
bool Buffering::fence_settles(std::uint32_t fence) const {
  const Event& event = candidate_.events_[fence];
  const std::vector<Thread>& threads = candidate_.program_.threads;
  const weak::Place& here = threads[event.thread].place;
  bool found = weak::includes(here, event.is->scope, kElsewhere);
  for (std::uint32_t t = 0; t < threads.size(); ++t) {
    found = found || (t != event.thread && weak::includes(here, event.is->scope, threads[t].place));
  }
  return found;
}

// Whether the thread gets back there what it gave to others behind an update: at a barrier, and at
// a fence.sc behind another.
bool Buffering::knows_again(std::uint32_t read, std::uint32_t event) const {
  const PathEvent& here = *candidate_.events_[event].is;
  if (here.kind == Kind::barrier) return !here.instruction->arrives_only;
  bool again = false;
  for (std::uint32_t between = read + 1; between < event && here.sc; ++between) {
    again = again || candidate_.events_[between].is->sc;
  }
  return again;
}

// Or comes to a barrier, behind which others may write.
bool Buffering::writes_before_use(std::uint32_t read, LimitSet kept) const {
  const bool update = is_update(*candidate_.events_[read].is);
  const std::uint32_t next = read + (candidate_.half_[read] != kInitial ? 2 : 1);
  for (std::uint32_t event = next; event < end_of_thread(read); ++event) {
    const PathEvent& here = *candidate_.events_[event].is;
    const bool access = here.kind == Kind::read || here.kind == Kind::write;
    const bool at_place = access && candidate_.same_place(read, event);
    if ((kept & limit_bit(Limit::operand)) != 0 && uses(event, read)) return false;
    if ((kept & limit_bit(Limit::own_place)) != 0 && update && at_place) return false;
    if (writes(*here.instruction) || here.kind == Kind::barrier) return true;
  }
  return false;
}

bool Buffering::uses(std::uint32_t event, std::uint32_t read) const {
  const std::uint32_t first = candidate_.first_event_[candidate_.events_[event].thread];
  return (candidate_.events_[event].is->operands << first >> read & 1) != 0;
}

std::uint32_t Buffering::end_of_thread(std::uint32_t event) const {
  const std::uint32_t next = candidate_.events_[event].thread + 1;
  return next < candidate_.first_event_.size() ? candidate_.first_event_[next] : candidate_.count_;
}

}  // namespace gdakit::sim::litmus
