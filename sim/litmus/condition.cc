#include "sim/litmus/condition.h"

namespace gdakit::sim::litmus {
namespace {

std::int64_t value_of(const Term& term, const Outcome& outcome) {
  return term.is_constant ? term.value : outcome[term.observable];
}

bool node_holds(const Condition& condition, std::uint32_t index, const Outcome& outcome) {
  const Condition::Node& node = condition.nodes[index];
  switch (node.kind) {
    case Condition::Kind::comparison:
      return holds(node.compare, value_of(node.left_term, outcome),
                   value_of(node.right_term, outcome));
    case Condition::Kind::both:
      return node_holds(condition, node.left, outcome) &&
             node_holds(condition, node.right, outcome);
    case Condition::Kind::either:
      return node_holds(condition, node.left, outcome) ||
             node_holds(condition, node.right, outcome);
    case Condition::Kind::negation: return !node_holds(condition, node.left, outcome);
  }
  return false;
}

}  // namespace

bool Condition::holds(const Outcome& outcome) const {
  return nodes.empty() || node_holds(*this, static_cast<std::uint32_t>(nodes.size() - 1), outcome);
}

}  // namespace gdakit::sim::litmus
