#include "tests/litmus/axioms.h"

#include <algorithm>
#include <array>

#include "core/base/assert.h"
#include "tests/litmus/buffering.h"
#include "tests/litmus/coherence_search.h"

namespace gdakit::sim::litmus {

using Kind = PathEvent::Kind;

Candidate::Candidate(const Program& program, const std::vector<const Path*>& paths)
    : program_(program), paths_(paths), at_location_(program.locations.size()) {
  add_program_order(paths);
  count_ = static_cast<std::uint32_t>(events_.size());
  GDAKIT_ASSERT(count_ <= 64);
  source_.assign(count_, kInitial);
  value_.assign(count_, 0);
  for (std::uint32_t first = 0; first < count_; ++first) {
    for (std::uint32_t second = 0; second < count_; ++second) {
      if (morally_strong(first, second)) strong_.add(first, second);
    }
  }
  find_patterns();
  find_sources();
}

void Candidate::add_program_order(const std::vector<const Path*>& paths) {
  for (std::uint32_t thread = 0; thread < paths.size(); ++thread) {
    const auto first = static_cast<std::uint32_t>(events_.size());
    first_event_.push_back(first);
    for (const PathEvent& path_event : paths[thread]->events) {
      const auto number = static_cast<std::uint32_t>(events_.size());
      for (std::uint32_t before = first; before < number; ++before) {
        program_order_.add(before, number);
      }
      events_.push_back({&path_event, thread});
      half_.push_back(kInitial);
      const Events bit = event_bit(number);
      if (path_event.kind == Kind::read) reads_ |= bit;
      if (path_event.kind == Kind::write) {
        writes_ |= bit;
        if (path_event.atomic) half_[number - 1] = number;
      }
      if (path_event.kind == Kind::barrier) barriers_ |= bit;
      if (path_event.sc) fences_sc_ |= bit;
      if (((reads_ | writes_) & bit) != 0) at_location_[path_event.location] |= bit;
    }
  }
}

bool Candidate::includes_other(const Event& from, const Event& to) const {
  return weak::includes(program_.threads[from.thread].place, from.is->scope,
                        program_.threads[to.thread].place);
}

// Accesses of different places are never asked about here, and none overlap in part.
bool Candidate::morally_strong(std::uint32_t first, std::uint32_t second) const {
  const Event& a = events_[first];
  const Event& b = events_[second];
  if (a.thread == b.thread) return true;
  return a.is->strong && b.is->strong && includes_other(a, b) && includes_other(b, a);
}

void Candidate::find_patterns() {
  first_of_release_.assign(count_, 0);
  last_of_acquire_.assign(count_, 0);
  for_each(writes_, [&](std::uint32_t write) {
    if (!events_[write].is->strong) return;
    if (events_[write].is->release) first_of_release_[write] |= event_bit(write);
    for (std::uint32_t before = 0; before < write; ++before) {
      const bool fence = events_[before].is->kind == Kind::fence;
      const bool here = is_write(before) && same_place(write, before);
      if (!program_order_.has(before, write) || !events_[before].is->release) continue;
      if (fence || here) first_of_release_[write] |= event_bit(before);
    }
  });
  for_each(reads_, [&](std::uint32_t read) {
    if (!events_[read].is->strong || !events_[read].is->returns) return;
    if (events_[read].is->acquire) last_of_acquire_[read] |= event_bit(read);
    for (std::uint32_t after = read + 1; after < count_; ++after) {
      const PathEvent& event = *events_[after].is;
      const bool fence = event.kind == Kind::fence;
      const bool here = event.kind == Kind::read && event.returns && same_place(read, after);
      if (!program_order_.has(read, after) || !event.acquire) continue;
      if (fence || here) last_of_acquire_[read] |= event_bit(after);
    }
  });
}

void Candidate::find_sources() {
  sources_.assign(count_, 0);
  initial_allowed_.assign(count_, false);
  for_each(reads_, [&](std::uint32_t read) {
    const Events here = writes_ & at_location_[events_[read].is->location];
    Events hidden = program_order_.after[read];
    bool initial = true;
    // What the thread itself has overwritten before.
    for_each(here, [&](std::uint32_t write) {
      if (!program_order_.has(write, read)) return;
      initial = false;
      for (std::uint32_t before = 0; before < write; ++before) {
        if (program_order_.has(before, write)) hidden |= event_bit(before);
      }
    });
    sources_[read] = here & ~hidden;
    initial_allowed_[read] = initial;
  });
}

// Of two morally strong writes, one comes first, and between the halves of the other if both read
// something that precedes it.
bool Candidate::exclusive(std::uint32_t read, std::uint32_t other, std::uint32_t source) const {
  if (half_[read] == kInitial || half_[other] == kInitial || !same_place(read, other)) return false;
  if (!strong_.has(half_[read], half_[other])) return false;
  return source == kInitial || (strong_.has(source, read) && strong_.has(source, other));
}

std::int64_t Candidate::value_of(std::uint32_t thread, ExpressionId id) const {
  const Expression& expression = paths_[thread]->expressions[id];
  switch (expression.kind) {
    case Expression::Kind::constant: return expression.value;
    case Expression::Kind::read: return value_[first_event_[thread] + expression.event];
    case Expression::Kind::compute:
      return compute(expression.arithmetic, value_of(thread, expression.left),
                     value_of(thread, expression.right));
  }
  return 0;
}

// Axiom "No-Thin-Air": reads-from and dependencies have no cycle. So values can be computed one
// after the other.
bool Candidate::evaluate() {
  Events done = ~(reads_ | writes_);
  for (bool progress = true; progress;) {
    progress = false;
    for_each((reads_ | writes_) & ~done, [&](std::uint32_t event) {
      const std::uint32_t thread = events_[event].thread;
      const Events needed = events_[event].is->depends_on << first_event_[thread];
      if ((needed & ~done) != 0) return;
      if (is_write(event)) {
        value_[event] = value_of(thread, events_[event].is->value);
      } else if (source_[event] == kInitial) {
        value_[event] = program_.locations[events_[event].is->location].initial;
      } else if ((done >> source_[event] & 1) != 0) {
        value_[event] = value_[source_[event]];
      } else {
        return;
      }
      done |= event_bit(event);
      progress = true;
    });
  }
  if (done != ~Events{0}) return false;
  for (std::uint32_t thread = 0; thread < paths_.size(); ++thread) {
    for (const Demand& demand : paths_[thread]->demands) {
      const bool is =
          holds(demand.compare, value_of(thread, demand.left), value_of(thread, demand.right));
      if (is != demand.holds) return false;
    }
  }
  return true;
}

std::int64_t Candidate::register_value(std::uint32_t thread, std::uint32_t number) const {
  return value_of(thread, paths_[thread]->registers[number]);
}

// Observation order: a morally strong read of a write, also through a chain of atomics.
void Candidate::observe() {
  Relation direct;  // between writes, through atomics
  observation_ = {};
  for_each(reads_, [&](std::uint32_t read) {
    const std::uint32_t source = source_[read];
    if (source == kInitial || !strong_.has(source, read)) return;
    observation_.add(source, read);
    if (half_[read] != kInitial) direct.add(source, half_[read]);
  });
  direct.close(count_);
  const Relation once = observation_;
  for_each(writes_, [&](std::uint32_t write) {
    for_each(direct.after[write],
             [&](std::uint32_t later) { observation_.after[write] |= once.after[later]; });
  });
}

void Candidate::synchronize_patterns() {
  for_each(writes_, [&](std::uint32_t write) {
    const Events firsts = first_of_release_[write];
    if (firsts == 0) return;
    for_each(observation_.after[write], [&](std::uint32_t read) {
      const Events lasts = last_of_acquire_[read];
      for_each(firsts, [&](std::uint32_t first) {
        synchronizes_.after[first] |= lasts & strong_.after[first];
      });
    });
  });
}

// Base causality with the fence.sc in this order. False if the order contradicts it.
bool Candidate::fences_in_order(const std::vector<std::uint32_t>& order) {
  base_ = program_order_;
  for (std::uint32_t event = 0; event < count_; ++event) {
    base_.after[event] |= synchronizes_.after[event];
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (strong_.has(order[i], order[j])) base_.add(order[i], order[j]);
    }
  }
  base_.close(count_);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (strong_.has(order[i], order[j]) && base_.has(order[j], order[i])) return false;
    }
  }
  return true;
}

// Causality order: base causality between accesses of one place, or observation and then that.
void Candidate::find_causality() {
  causality_ = {};
  const auto preserved = [&](std::uint32_t event) {
    return base_.after[event] & at_location_[events_[event].is->location];
  };
  for_each(reads_ | writes_, [&](std::uint32_t event) {
    causality_.after[event] = preserved(event);
    for_each(observation_.after[event],
             [&](std::uint32_t read) { causality_.after[event] |= preserved(read); });
  });
}

// Axiom "Causality", first half: a read does not return a write that it precedes.
bool Candidate::reads_respect_causality() const {
  bool respected = true;
  for_each(reads_, [&](std::uint32_t read) {
    if (source_[read] != kInitial && causality_.has(read, source_[read])) respected = false;
  });
  return respected;
}

// The next permutation that keeps program order.
bool Candidate::next_fence_order(std::vector<std::uint32_t>& order) const {
  while (std::next_permutation(order.begin(), order.end())) {
    bool keeps = true;
    for (std::size_t i = 0; i < order.size() && keeps; ++i) {
      for (std::size_t j = i + 1; j < order.size() && keeps; ++j) {
        keeps = !program_order_.has(order[j], order[i]);
      }
    }
    if (keeps) return true;
  }
  return false;
}

Needs Candidate::needs(const std::vector<std::uint32_t>& order) const {
  Relation before = meets_;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (strong_.has(order[i], order[j])) before.add(order[i], order[j]);
    }
  }
  return Buffering(*this, base_, before).needs();
}

std::vector<Candidate::Allowance> Candidate::allowances() {
  std::vector<Allowance> all;
  synchronizes_ = {};
  if (!synchronize_barriers()) return all;
  meets_ = synchronizes_;
  observe();
  synchronize_patterns();
  std::vector<std::uint32_t> order;
  for_each(fences_sc_, [&](std::uint32_t fence) { order.push_back(fence); });
  do {
    if (!fences_in_order(order)) continue;
    find_causality();
    if (!reads_respect_causality()) continue;
    FinalValues values;
    for (std::uint32_t location = 0; location < at_location_.size(); ++location) {
      values.push_back(CoherenceSearch(*this, location).final_values());
      if (values.back().empty()) break;
    }
    if (values.empty() || !values.back().empty()) all.push_back({std::move(values), needs(order)});
  } while (next_fence_order(order));
  return all;
}

}  // namespace gdakit::sim::litmus
