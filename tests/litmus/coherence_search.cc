#include "tests/litmus/coherence_search.h"

namespace gdakit::sim::litmus {

CoherenceSearch::CoherenceSearch(const Candidate& candidate, std::uint32_t location)
    : candidate_(candidate), location_(location) {
  writes_ = candidate.writes_ & candidate.at_location_[location];
  reads_ = candidate.reads_ & candidate.at_location_[location];
  for_each(writes_, [&](std::uint32_t first) {
    for_each(writes_ & ~((event_bit(first) << 1) - 1), [&](std::uint32_t second) {
      if (candidate_.strong_.has(first, second)) pairs_.push_back({first, second});
    });
  });
}

std::set<std::int64_t> CoherenceSearch::final_values() {
  // Axiom "Coherence": what precedes in causality order precedes in coherence order.
  Relation order;
  for_each(writes_, [&](std::uint32_t write) {
    order.after[write] = candidate_.causality_.after[write] & writes_;
  });
  order.close(candidate_.count_);
  if (allowed(order)) search(order, 0);
  return values_;
}

// All ways to order the pairs from number `pair` on. What an order forbids, every order with more
// in it forbids as well.
void CoherenceSearch::search(const Relation& order, std::size_t pair) {
  while (pair < pairs_.size() && (order.has(pairs_[pair].first, pairs_[pair].second) ||
                                  order.has(pairs_[pair].second, pairs_[pair].first))) {
    ++pair;
  }
  if (pair == pairs_.size()) return record(order);
  for (const bool forwards : {true, false}) {
    Relation more = order;
    const std::uint32_t from = forwards ? pairs_[pair].first : pairs_[pair].second;
    const std::uint32_t to = forwards ? pairs_[pair].second : pairs_[pair].first;
    more.add_closed(from, to, candidate_.count_);
    if (allowed(more)) search(more, pair + 1);
  }
}

bool CoherenceSearch::allowed(const Relation& order) const {
  return order.is_acyclic(candidate_.count_) && respects_causality(order) && is_atomic(order) &&
         is_consistent_per_location(order);
}

Events CoherenceSearch::overwriting(const Relation& order, std::uint32_t read) const {
  const std::uint32_t source = candidate_.source_[read];
  return source == kInitial ? writes_ : order.after[source];
}

// Axiom "Causality", second half: a read does not return what was overwritten before it.
bool CoherenceSearch::respects_causality(const Relation& order) const {
  bool respected = true;
  for_each(reads_, [&](std::uint32_t read) {
    for_each(overwriting(order, read), [&](std::uint32_t write) {
      respected = respected && !candidate_.causality_.has(write, read);
    });
  });
  return respected;
}

// Axiom "Atomicity": no morally strong write comes between the halves of a read-modify-write.
bool CoherenceSearch::is_atomic(const Relation& order) const {
  bool atomic = true;
  for_each(reads_, [&](std::uint32_t read) {
    const std::uint32_t half = candidate_.half_[read];
    if (half == kInitial) return;
    for_each(overwriting(order, read), [&](std::uint32_t write) {
      const bool between = write != half && order.has(write, half);
      atomic = atomic && !(between && candidate_.strong_.has(write, half));
    });
  });
  return atomic;
}

// Axiom "SC-per-location": morally strong communication does not contradict program order.
bool CoherenceSearch::is_consistent_per_location(const Relation& order) const {
  Relation all;
  const Events here = candidate_.at_location_[location_];
  for_each(here, [&](std::uint32_t event) {
    all.after[event] = candidate_.program_order_.after[event] & here;
  });
  for_each(writes_, [&](std::uint32_t write) {
    all.after[write] |= order.after[write] & candidate_.strong_.after[write];
  });
  for_each(reads_, [&](std::uint32_t read) {
    const std::uint32_t source = candidate_.source_[read];
    if (source != kInitial && candidate_.strong_.has(source, read)) all.add(source, read);
    all.after[read] |= overwriting(order, read) & candidate_.strong_.after[read];
  });
  all.close(candidate_.count_);
  return all.is_acyclic(candidate_.count_);
}

void CoherenceSearch::record(const Relation& order) {
  for_each(writes_, [&](std::uint32_t write) {
    if (order.after[write] == 0) values_.insert(candidate_.value_[write]);
  });
  if (writes_ == 0) values_.insert(candidate_.program_.locations[location_].initial);
}

}  // namespace gdakit::sim::litmus
