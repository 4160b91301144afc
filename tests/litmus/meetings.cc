// Barriers in a candidate execution: who meets whom, and whether all can get there.
#include <map>
#include <tuple>

#include "tests/litmus/axioms.h"

namespace gdakit::sim::litmus {
namespace {

// Block, number, whether it has a name, name, and the how-manieth arrival of its thread there.
using Meeting = std::tuple<std::uint32_t, std::uint32_t, bool, std::int64_t, std::uint32_t>;

}  // namespace

// The barrier event of `thread` without which `meeting` does not end, for one barrier in the
// thread's code: none (0) if that is another barrier, nothing if it never comes.
std::optional<Events> Candidate::awaited(std::uint32_t thread, const Instruction& barrier,
                                         const Instruction& of, std::int64_t name,
                                         Events arrivals) const {
  const bool fixed = !barrier.named || !barrier.left.is_register;
  const bool other =
      barrier.op != Op::barrier || barrier.instance != of.instance || barrier.named != of.named;
  if (other || (fixed && barrier.named && barrier.left.value != name)) return 0;
  Events came = 0, passed = 0;
  for_each(barriers_, [&](std::uint32_t event) {
    if (events_[event].thread != thread) return;
    came |= arrivals & event_bit(event);
    // A name from a register that turned out to be another one.
    if (!fixed && events_[event].is->instruction == &barrier) passed |= event_bit(event);
  });
  if (came != 0) return came;
  if (passed != 0) return passed;
  return std::nullopt;
}

// Adds what barriers synchronize. False if some thread would wait for ever.
bool Candidate::synchronize_barriers() {
  std::map<Meeting, Events> meetings;
  std::map<std::tuple<std::uint32_t, Meeting>, std::uint32_t> rounds;
  std::vector<Meeting> meeting_of(count_);
  for_each(barriers_, [&](std::uint32_t event) {
    const std::uint32_t thread = events_[event].thread;
    const Instruction& barrier = *events_[event].is->instruction;
    Meeting meeting{program_.threads[thread].place.block, barrier.instance, barrier.named,
                    value_of(thread, events_[event].is->value), 0};
    const std::uint32_t round = ++rounds[{thread, meeting}];
    std::get<4>(meeting) = round;
    meeting_of[event] = meeting;
    meetings[meeting] |= event_bit(event);
  });
  Relation leaves_before;
  bool all_come = true;
  for_each(barriers_, [&](std::uint32_t event) {
    const Instruction& barrier = *events_[event].is->instruction;
    if (barrier.arrives_only) return;
    const Events arrivals = meetings[meeting_of[event]];
    for_each(arrivals & ~event_bit(event),
             [&](std::uint32_t other) { synchronizes_.add(other, event); });
    const std::int64_t name = std::get<3>(meeting_of[event]);
    Events needed = 0;
    for (std::uint32_t t = 0; t < paths_.size(); ++t) {
      const bool here =
          program_.threads[t].place.block == program_.threads[events_[event].thread].place.block;
      if (!here || t == events_[event].thread) continue;
      for (const Instruction& instruction : program_.threads[t].code) {
        const auto events = awaited(t, instruction, barrier, name, arrivals);
        all_come = all_come && events.has_value();
        needed |= events.value_or(0);
      }
    }
    // Whoever is needed must first have left the barriers before.
    for_each(barriers_, [&](std::uint32_t before) {
      if (events_[before].is->instruction->arrives_only) return;
      const bool comes_first = (program_order_.after[before] & (needed | event_bit(event))) != 0;
      if (comes_first) leaves_before.add(before, event);
    });
  });
  leaves_before.close(count_);
  return all_come && leaves_before.is_acyclic(count_);
}

}  // namespace gdakit::sim::litmus
