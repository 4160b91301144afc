#include "sim/litmus/instruction_parser.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/litmus/symbols.h"

namespace gdakit::sim::litmus {
namespace {

template <class Value>
struct Row {
  std::string_view word;
  Value value;
};

template <class Value, std::size_t count>
std::optional<Value> look_up(const std::array<Row<Value>, count>& table, std::string_view word) {
  for (const Row<Value>& row : table) {
    if (row.word == word) return row.value;
  }
  return std::nullopt;
}

using weak::Sem;

constexpr std::array<Row<Sem>, 7> kSems = {{{"weak", Sem::weak},
                                            {"relaxed", Sem::relaxed},
                                            {"volatile", Sem::relaxed},
                                            {"acquire", Sem::acquire},
                                            {"release", Sem::release},
                                            {"acq_rel", Sem::acq_rel},
                                            {"sc", Sem::sc}}};
constexpr std::array<Row<Scope>, 4> kScopes = {
    {{"cta", Scope::block}, {"gpu", Scope::gpu}, {"gl", Scope::gpu}, {"sys", Scope::system}}};
constexpr std::array<Row<Arithmetic>, 12> kArithmetic = {{{"add", Arithmetic::add},
                                                          {"sub", Arithmetic::subtract},
                                                          {"mul", Arithmetic::multiply},
                                                          {"div", Arithmetic::divide},
                                                          {"and", Arithmetic::bit_and},
                                                          {"or", Arithmetic::bit_or},
                                                          {"xor", Arithmetic::bit_xor},
                                                          {"exch", Arithmetic::exchange},
                                                          {"min", Arithmetic::minimum},
                                                          {"max", Arithmetic::maximum},
                                                          {"inc", Arithmetic::increment},
                                                          {"dec", Arithmetic::decrement}}};
constexpr std::array<Row<Compare>, 6> kBranches = {{{"beq", Compare::equal},
                                                    {"bne", Compare::unequal},
                                                    {"blt", Compare::less},
                                                    {"ble", Compare::less_or_equal},
                                                    {"bgt", Compare::greater},
                                                    {"bge", Compare::greater_or_equal}}};
// What the collection has and the memory model here has not.
constexpr std::array<Row<const char*>, 8> kProxies = {{{"tld", "the texture proxy"},
                                                       {"suld", "the surface proxy"},
                                                       {"sust", "the surface proxy"},
                                                       {"suatom", "the surface proxy"},
                                                       {"sured", "the surface proxy"},
                                                       {"cold", "the constant proxy"},
                                                       {"cp", "the async proxy"},
                                                       {"multimem", "multicast memory"}}};

// The opcode and what follows it after dots.
struct Mnemonic {
  std::string text;  // all of it
  std::string_view opcode;
  std::uint32_t line = 0;
  std::optional<Sem> sem;
  std::optional<Scope> scope;
  std::optional<Arithmetic> arithmetic;
  bool cas = false, is_volatile = false;
  std::vector<std::string_view> others;
};

class Reader {
 public:
  Reader(Cursor& cursor, Program& program, Thread& thread)
      : cursor_(cursor), program_(program), thread_(thread) {}

  Instruction read(std::string& label);

 private:
  void read_mnemonic();
  void take_modifier(std::string_view word);
  void refuse(const std::string& what);  // not modelled
  void reject(const std::string& what);  // wrong
  void reject_others();
  void check_sem(std::initializer_list<Sem> allowed);
  void take_strength(Instruction& instruction, Sem sem, Scope scope);

  std::uint32_t read_register();
  std::uint32_t read_location();
  Operand read_operand();
  void comma() { cursor_.expect(",", "between the operands of '" + mnemonic_.text + "'"); }

  void read_store(Instruction& instruction);
  void read_load(Instruction& instruction);
  void read_atomic(Instruction& instruction);
  void read_fence(Instruction& instruction);
  void read_barrier(Instruction& instruction);
  void read_compute(Instruction& instruction, Arithmetic arithmetic);
  void read_branch(Instruction& instruction, Compare compare, std::string& label);

  Cursor& cursor_;
  Program& program_;
  Thread& thread_;
  Mnemonic mnemonic_;
};

void Reader::refuse(const std::string& what) {
  cursor_.fail_at(mnemonic_.line, Code::unavailable,
                  "'" + mnemonic_.text + "': " + what + " is not modelled");
}

void Reader::reject(const std::string& what) {
  cursor_.fail_at(mnemonic_.line, Code::invalid_argument, "'" + mnemonic_.text + "': " + what);
}

void Reader::take_modifier(std::string_view word) {
  if (const auto sem = look_up(kSems, word); sem.has_value()) {
    if (mnemonic_.sem.has_value()) reject("more than one memory order");
    mnemonic_.sem = sem;
    mnemonic_.is_volatile = word == "volatile";
  } else if (const auto scope = look_up(kScopes, word); scope.has_value()) {
    if (mnemonic_.scope.has_value()) reject("more than one scope");
    mnemonic_.scope = scope;
  } else if (const auto arithmetic = look_up(kArithmetic, word); arithmetic.has_value()) {
    mnemonic_.arithmetic = arithmetic;
  } else if (word == "cas") {
    mnemonic_.cas = true;
  } else {
    mnemonic_.others.push_back(word);
  }
}

void Reader::read_mnemonic() {
  mnemonic_.line = cursor_.peek().line;
  mnemonic_.opcode = cursor_.expect_word("an instruction");
  mnemonic_.text = mnemonic_.opcode;
  std::vector<std::string_view> words;
  while (cursor_.accept(".")) {
    if (cursor_.peek().kind == TokenKind::end) break;
    words.push_back(cursor_.take().text);
    mnemonic_.text += "." + std::string(words.back());
  }
  for (const std::string_view word : words) take_modifier(word);
}

void Reader::reject_others() {
  for (const std::string_view word : mnemonic_.others) {
    if (word == "cluster") return refuse("the scope of a cluster");
    return refuse("'." + std::string(word) + "'");
  }
}

void Reader::check_sem(std::initializer_list<Sem> allowed) {
  reject_others();
  if (!mnemonic_.sem.has_value()) return;
  bool found = false;
  for (const Sem sem : allowed) found = found || sem == *mnemonic_.sem;
  if (!found) reject("this instruction cannot have that memory order");
}

// `sem` and `scope` where the mnemonic says nothing.
void Reader::take_strength(Instruction& instruction, Sem sem, Scope scope) {
  instruction.sem = mnemonic_.sem.value_or(sem);
  instruction.scope = mnemonic_.scope.value_or(scope);
  if (mnemonic_.is_volatile) {
    if (mnemonic_.scope.has_value()) reject("volatile has no scope");
    instruction.scope = Scope::system;
    return;
  }
  if (instruction.sem == Sem::weak) {
    if (mnemonic_.scope.has_value()) reject("a weak access has no scope");
  } else if (mnemonic_.sem.has_value() && !mnemonic_.scope.has_value()) {
    reject("a scope is missing: .cta, .gpu or .sys");
  }
}

std::uint32_t Reader::read_register() {
  const std::string_view name = cursor_.expect_word("a register");
  if (cursor_.failed()) return 0;
  if (!is_register_name(name)) {
    reject("'" + std::string(name) + "' is no register (r0, r1, ...)");
    return 0;
  }
  return register_number(thread_, name);
}

std::uint32_t Reader::read_location() {
  if (cursor_.at("[")) refuse("an address in brackets");
  const std::string_view name = cursor_.expect_word("a location");
  if (cursor_.failed()) return 0;
  if (is_register_name(name)) refuse("an address in a register (" + std::string(name) + ")");
  if (cursor_.at("[")) refuse("an array");
  return location_number(program_, name);
}

Operand Reader::read_operand() {
  Operand operand;
  if (cursor_.peek().kind == TokenKind::number) {
    operand.value = cursor_.take().value;
  } else {
    operand.is_register = true;
    operand.number = read_register();
  }
  return operand;
}

void Reader::read_store(Instruction& instruction) {
  check_sem({Sem::weak, Sem::relaxed, Sem::release});
  instruction.op = Op::store;
  take_strength(instruction, Sem::weak, Scope::system);
  instruction.location = read_location();
  comma();
  instruction.left = read_operand();
}

void Reader::read_load(Instruction& instruction) {
  check_sem({Sem::weak, Sem::relaxed, Sem::acquire});
  instruction.op = Op::load;
  take_strength(instruction, Sem::weak, Scope::system);
  instruction.destination = read_register();
  comma();
  const Token& source = cursor_.peek();
  if (source.kind == TokenKind::number || is_register_name(source.text)) {
    instruction.op = Op::move;
    instruction.left = read_operand();
  } else {
    instruction.location = read_location();
  }
}

void Reader::read_atomic(Instruction& instruction) {
  const bool returns = mnemonic_.opcode == "atom";
  check_sem({Sem::relaxed, Sem::acquire, Sem::release, Sem::acq_rel});
  take_strength(instruction, Sem::relaxed, Scope::gpu);
  if (!mnemonic_.cas && !mnemonic_.arithmetic.has_value()) return reject("an operation is missing");
  if (mnemonic_.cas && !returns) return reject("a red has no cas");
  instruction.op = mnemonic_.cas ? Op::cas : Op::rmw;
  instruction.arithmetic = mnemonic_.arithmetic.value_or(Arithmetic::exchange);
  if (returns) {
    instruction.destination = read_register();
    comma();
  }
  instruction.location = read_location();
  comma();
  instruction.left = read_operand();
  if (!mnemonic_.cas) return;
  comma();
  instruction.right = read_operand();
}

void Reader::read_fence(Instruction& instruction) {
  instruction.op = Op::fence;
  if (!mnemonic_.others.empty() && mnemonic_.others.front() == "proxy") {
    return refuse("a fence between proxies");
  }
  if (mnemonic_.opcode == "membar") {
    reject_others();
    if (mnemonic_.sem.has_value()) return reject("a membar has a scope only");
    if (!mnemonic_.scope.has_value()) return reject("a scope is missing: .cta, .gl or .sys");
    instruction.sem = Sem::sc;
    instruction.scope = *mnemonic_.scope;
    return;
  }
  check_sem({Sem::acquire, Sem::release, Sem::acq_rel, Sem::sc});
  take_strength(instruction, Sem::acq_rel, Scope::system);
  if (!mnemonic_.scope.has_value()) reject("a scope is missing: .cta, .gpu or .sys");
}

void Reader::read_barrier(Instruction& instruction) {
  instruction.op = Op::barrier;
  bool found = false;
  for (const std::string_view word : mnemonic_.others) {
    if (word != "sync" && word != "arrive") return refuse("'." + std::string(word) + "'");
    found = true;
    instruction.arrives_only = word == "arrive";
  }
  if (!found) return reject("one of .sync and .arrive is missing");
  if (mnemonic_.scope.has_value() && *mnemonic_.scope != Scope::block) {
    return refuse("a barrier beyond one block");
  }
  if (mnemonic_.sem.has_value()) return reject("a barrier has no memory order");
  if (is_register_name(cursor_.peek().text)) return refuse("a barrier's number in a register");
  instruction.instance = static_cast<std::uint32_t>(cursor_.expect_number("a barrier's number"));
  if (!cursor_.accept(",")) return;
  instruction.named = true;
  instruction.left = read_operand();
  if (cursor_.at(",")) refuse("a quorum (a barrier that does not wait for all)");
}

void Reader::read_compute(Instruction& instruction, Arithmetic arithmetic) {
  instruction.op = Op::compute;
  instruction.arithmetic = arithmetic;
  instruction.destination = read_register();
  comma();
  instruction.left = read_operand();
  comma();
  instruction.right = read_operand();
}

void Reader::read_branch(Instruction& instruction, Compare compare, std::string& label) {
  instruction.op = Op::branch;
  instruction.compare = compare;
  instruction.left = read_operand();
  comma();
  instruction.right = read_operand();
  comma();
  label = cursor_.expect_word("a label");
}

Instruction Reader::read(std::string& label) {
  read_mnemonic();
  Instruction instruction;
  instruction.line = mnemonic_.line;
  const std::string_view opcode = mnemonic_.opcode;
  if (cursor_.failed()) return instruction;
  if (opcode == "st") {
    read_store(instruction);
  } else if (opcode == "ld") {
    read_load(instruction);
  } else if (opcode == "atom" || opcode == "red") {
    read_atomic(instruction);
  } else if (opcode == "fence" || opcode == "membar") {
    read_fence(instruction);
  } else if (opcode == "bar" || opcode == "barrier") {
    read_barrier(instruction);
  } else if (opcode == "goto") {
    instruction.op = Op::jump;
    label = cursor_.expect_word("a label");
  } else if (const auto compare = look_up(kBranches, opcode); compare.has_value()) {
    read_branch(instruction, *compare, label);
  } else if (const auto proxy = look_up(kProxies, opcode); proxy.has_value()) {
    refuse(*proxy);
  } else if (const auto arithmetic = look_up(kArithmetic, opcode); arithmetic.has_value()) {
    read_compute(instruction, *arithmetic);
  } else {
    refuse("this instruction");
  }
  return instruction;
}

}  // namespace

Instruction parse_instruction(Cursor& cursor, Program& program, Thread& thread,
                              std::string& label) {
  return Reader(cursor, program, thread).read(label);
}

}  // namespace gdakit::sim::litmus
