#include "sim/litmus/program.h"

#include <algorithm>

namespace gdakit::sim::litmus {
namespace {

const char* symbol(Compare compare) {
  switch (compare) {
    case Compare::equal: return " == ";
    case Compare::unequal: return " != ";
    case Compare::less: return " < ";
    case Compare::less_or_equal: return " <= ";
    case Compare::greater: return " > ";
    case Compare::greater_or_equal: return " >= ";
  }
  return " ? ";
}

const char* quantifier_name(Quantifier quantifier) {
  switch (quantifier) {
    case Quantifier::exists: return "exists";
    case Quantifier::not_exists: return "~exists";
    case Quantifier::forall: return "forall";
  }
  return "";
}

std::string describe_term(const Program& program, const Term& term) {
  return term.is_constant ? std::to_string(term.value)
                          : name_of(program, program.observables[term.observable]);
}

std::string describe_node(const Program& program, const Condition& condition, std::uint32_t index) {
  const Condition::Node& node = condition.nodes[index];
  switch (node.kind) {
    case Condition::Kind::comparison:
      return describe_term(program, node.left_term) + symbol(node.compare) +
             describe_term(program, node.right_term);
    case Condition::Kind::both:
      return "(" + describe_node(program, condition, node.left) + " /\\ " +
             describe_node(program, condition, node.right) + ")";
    case Condition::Kind::either:
      return "(" + describe_node(program, condition, node.left) + " \\/ " +
             describe_node(program, condition, node.right) + ")";
    case Condition::Kind::negation:
      return "~(" + describe_node(program, condition, node.left) + ")";
  }
  return "";
}

// Two's complement without the traps of signed arithmetic.
std::int64_t wrapped(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

std::int64_t compute(Arithmetic arithmetic, std::int64_t left, std::int64_t right) {
  const auto a = static_cast<std::uint64_t>(left);
  const auto b = static_cast<std::uint64_t>(right);
  switch (arithmetic) {
    case Arithmetic::add: return wrapped(a + b);
    case Arithmetic::subtract: return wrapped(a - b);
    case Arithmetic::multiply: return wrapped(a * b);
    case Arithmetic::divide:
      if (right == 0) return 0;
      return right == -1 ? wrapped(0 - a) : left / right;
    case Arithmetic::bit_and: return wrapped(a & b);
    case Arithmetic::bit_or: return wrapped(a | b);
    case Arithmetic::bit_xor: return wrapped(a ^ b);
    case Arithmetic::exchange: return right;
    case Arithmetic::minimum: return std::min(left, right);
    case Arithmetic::maximum: return std::max(left, right);
    case Arithmetic::increment: return a >= b ? 0 : wrapped(a + 1);
    case Arithmetic::decrement: return a == 0 || a > b ? right : wrapped(a - 1);
  }
  return 0;
}

std::string name_of(const Program& program, const Observable& observable) {
  if (!observable.is_register) return program.locations[observable.number].name;
  const Thread& thread = program.threads[observable.thread];
  return thread.name + ":" + thread.registers[observable.number];
}

std::string describe(const Program& program, const Outcome& outcome) {
  std::string text;
  for (std::size_t i = 0; i < outcome.size(); ++i) {
    if (i != 0) text += ' ';
    text += name_of(program, program.observables[i]) + "=" + std::to_string(outcome[i]);
  }
  return text;
}

std::string describe_condition(const Program& program) {
  if (program.condition.empty()) return quantifier_name(program.quantifier);
  const auto root = static_cast<std::uint32_t>(program.condition.nodes.size() - 1);
  std::string text = describe_node(program, program.condition, root);
  if (text.front() != '(') text = "(" + text + ")";
  return std::string(quantifier_name(program.quantifier)) + " " + text;
}

}  // namespace gdakit::sim::litmus
