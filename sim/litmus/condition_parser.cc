#include "sim/litmus/condition_parser.h"

#include <string>
#include <string_view>

#include "sim/litmus/symbols.h"

namespace gdakit::sim::litmus {
namespace {

// Parentheses and negations within each other; more is no test that a person wrote.
constexpr int kMaxDepth = 200;

class Reader {
 public:
  Reader(Cursor& cursor, Program& program) : cursor_(cursor), program_(program) {}

  Condition read() {
    read_either(0);
    return std::move(condition_);
  }

 private:
  using Kind = Condition::Kind;

  std::uint32_t add(const Condition::Node& node) {
    condition_.nodes.push_back(node);
    return static_cast<std::uint32_t>(condition_.nodes.size() - 1);
  }

  std::uint32_t add(Kind kind, std::uint32_t left, std::uint32_t right) {
    Condition::Node node;
    node.kind = kind;
    node.left = left;
    node.right = right;
    return add(node);
  }

  std::uint32_t read_either(int depth) {
    std::uint32_t left = read_both(depth);
    while (cursor_.accept("\\/")) left = add(Kind::either, left, read_both(depth));
    return left;
  }

  std::uint32_t read_both(int depth) {
    std::uint32_t left = read_one(depth);
    while (cursor_.accept("/\\")) left = add(Kind::both, left, read_one(depth));
    return left;
  }

  std::uint32_t read_one(int depth) {
    if (depth > kMaxDepth) {
      cursor_.fail(Code::invalid_argument, "the condition is nested too deeply");
      return 0;
    }
    if (cursor_.accept("~") || cursor_.accept("not")) {
      return add(Kind::negation, read_one(depth + 1), 0);
    }
    if (cursor_.accept("(")) {
      const std::uint32_t inner = read_either(depth + 1);
      cursor_.expect(")", "in the condition");
      return inner;
    }
    return read_comparison();
  }

  std::uint32_t read_comparison() {
    Condition::Node node;
    node.left_term = read_term();
    node.compare = read_compare();
    node.right_term = read_term();
    return add(node);
  }

  Compare read_compare() {
    if (cursor_.accept("=") || cursor_.accept("==")) return Compare::equal;
    if (cursor_.accept("!=")) return Compare::unequal;
    if (cursor_.accept("<=")) return Compare::less_or_equal;
    if (cursor_.accept(">=")) return Compare::greater_or_equal;
    if (cursor_.accept("<")) return Compare::less;
    if (cursor_.accept(">")) return Compare::greater;
    cursor_.fail(Code::invalid_argument, "expected a comparison in the condition, found '" +
                                             std::string(cursor_.peek().text) + "'");
    return Compare::equal;
  }

  Term read_term() {
    if (cursor_.peek(1).text == ":") return read_register();
    if (cursor_.peek().kind == TokenKind::number) return Term{true, cursor_.take().value, 0};
    const bool bracketed = cursor_.accept("[");
    const std::uint32_t line = cursor_.peek().line;
    const std::string_view name = cursor_.expect_word("a register, a location or a number");
    if (bracketed) cursor_.expect("]", "after a location");
    if (cursor_.at("[")) cursor_.fail(Code::unavailable, "an array is not modelled");
    if (cursor_.failed()) return {};
    if (is_register_name(name)) {
      cursor_.fail_at(line, Code::invalid_argument,
                      "a register needs its thread in a condition: 'P0:" + std::string(name) + "'");
      return {};
    }
    return Term{false, 0, observable_number(program_, {false, 0, location_number(program_, name)})};
  }

  // "P1:r0" or "1:r0".
  Term read_register() {
    const Token thread = cursor_.take();
    cursor_.expect(":", "after a thread");
    const std::string_view name = cursor_.expect_word("a register");
    if (cursor_.failed()) return {};
    const std::string wanted = thread.kind == TokenKind::number ? "P" + std::string(thread.text)
                                                                : std::string(thread.text);
    for (std::uint32_t i = 0; i < program_.threads.size(); ++i) {
      if (program_.threads[i].name != wanted) continue;
      const std::uint32_t number = register_number(program_.threads[i], name);
      return Term{false, 0, observable_number(program_, {true, i, number})};
    }
    cursor_.fail_at(thread.line, Code::invalid_argument,
                    "the condition names thread '" + std::string(thread.text) +
                        "', which the test does not have");
    return {};
  }

  Cursor& cursor_;
  Program& program_;
  Condition condition_;
};

}  // namespace

Condition parse_condition(Cursor& cursor, Program& program) {
  return Reader(cursor, program).read();
}

}  // namespace gdakit::sim::litmus
