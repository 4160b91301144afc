// CoherenceSearch: all coherence orders of one location that the axioms allow.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "tests/litmus/axioms.h"

namespace gdakit::sim::litmus {

class CoherenceSearch {
 public:
  CoherenceSearch(const Candidate& candidate, std::uint32_t location);

  // The values of writes that can be last; empty if there is no order.
  std::set<std::int64_t> final_values();

 private:
  void search(const Relation& order, std::size_t pair);
  bool allowed(const Relation& order) const;
  bool respects_causality(const Relation& order) const;
  bool is_atomic(const Relation& order) const;
  bool is_consistent_per_location(const Relation& order) const;
  void record(const Relation& order);
  // Writes after the one that `read` reads from.
  Events overwriting(const Relation& order, std::uint32_t read) const;

  struct Pair {
    std::uint32_t first = 0, second = 0;
  };

  const Candidate& candidate_;
  std::uint32_t location_;
  Events writes_ = 0, reads_ = 0;
  std::vector<Pair> pairs_;  // morally strong, to be ordered
  std::set<std::int64_t> values_;
};

}  // namespace gdakit::sim::litmus
