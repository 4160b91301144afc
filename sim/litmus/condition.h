// Condition: what a litmus test asks of the final state.
#pragma once

#include <cstdint>
#include <vector>

namespace gdakit::sim::litmus {

enum class Compare : std::uint8_t {
  equal,
  unequal,
  less,
  less_or_equal,
  greater,
  greater_or_equal,
};

constexpr bool holds(Compare compare, std::int64_t left, std::int64_t right) {
  switch (compare) {
    case Compare::equal: return left == right;
    case Compare::unequal: return left != right;
    case Compare::less: return left < right;
    case Compare::less_or_equal: return left <= right;
    case Compare::greater: return left > right;
    case Compare::greater_or_equal: return left >= right;
  }
  return false;
}

// A place whose final value the condition names: a register of a thread, or a location.
struct Observable {
  bool is_register = false;
  std::uint32_t thread = 0;  // of a register
  std::uint32_t number = 0;  // of the register in its thread, or of the location
  bool operator==(const Observable&) const = default;
};

// The final values, one for each of Program::observables.
using Outcome = std::vector<std::int64_t>;

enum class Quantifier : std::uint8_t { exists, not_exists, forall };

// One side of a comparison: a constant, or an index into Program::observables.
struct Term {
  bool is_constant = true;
  std::int64_t value = 0;
  std::uint32_t observable = 0;
};

// An expression as a list of nodes, children before parents; the last one is the root. An empty
// condition holds always.
struct Condition {
  enum class Kind : std::uint8_t { comparison, both, either, negation };
  struct Node {
    Kind kind = Kind::comparison;
    Compare compare = Compare::equal;
    Term left_term, right_term;         // of a comparison
    std::uint32_t left = 0, right = 0;  // children; a negation has the left one only
  };
  std::vector<Node> nodes;

  bool empty() const { return nodes.empty(); }
  bool holds(const Outcome& outcome) const;
};

}  // namespace gdakit::sim::litmus
