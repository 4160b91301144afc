#include "sim/niclitmus/step_parser.h"

#include <algorithm>
#include <string>

#include "sim/litmus/instruction_parser.h"
#include "sim/litmus/symbols.h"

namespace gdakit::sim::niclitmus {
namespace {

using litmus::Cursor;
using litmus::Operand;
using litmus::TokenKind;

constexpr std::size_t kCqeWords = 8;

class Reader {
 public:
  Reader(Cursor& cursor, Program& program, std::size_t column)
      : cursor_(cursor),
        program_(program),
        thread_(program.base.threads[column]),
        is_nic_(program.agents[column].is_nic) {}

  Step read() {
    Step step;
    if (cursor_.accept("need")) {
      step.action = Action::need;
      step.instruction.left = read_operand();
      comma();
      step.instruction.right = read_operand();
    } else if (is_nic_) {
      read_nic_step(step);
    } else if (cursor_.at("st") && cursor_.peek(2).text == "mmio") {
      read_mmio(step);
    } else {
      std::string label;
      step.instruction = litmus::parse_instruction(cursor_, program_.base, thread_, label);
      const litmus::Op op = step.instruction.op;
      const bool known = op != litmus::Op::barrier && op != litmus::Op::branch &&
                         op != litmus::Op::jump && label.empty();
      if (!known) fail("barriers and branches are not for tests of NICs");
    }
    return step;
  }

 private:
  void fail(const std::string& text) { cursor_.fail(Code::invalid_argument, text); }

  void read_mmio(Step& step) {
    cursor_.take();
    cursor_.take();
    cursor_.take();
    step.action = Action::mmio;
    if (cursor_.peek().kind == TokenKind::word)
      step.nic = parse_nic(cursor_, program_, cursor_.take().text);
    step.number = static_cast<std::uint32_t>(cursor_.expect_number("a doorbell register"));
    comma();
    step.instruction.left = read_operand();
  }

  void read_nic_step(Step& step) {
    const std::string_view unit = cursor_.expect_word("doorbell, dma, packet or need");
    std::string_view verb;
    if (cursor_.accept(".")) verb = cursor_.expect_word("what to do");
    if (unit == "doorbell" && verb.empty()) {
      step.action = Action::doorbell;
      step.instruction.destination = read_register();
    } else if (unit == "dma") {
      read_dma(step, verb);
    } else if (unit == "packet" && verb == "send") {
      step.action = Action::send;
      step.nic = parse_nic(cursor_, program_, cursor_.expect_word("a NIC"));
      comma();
      step.instruction.left = read_operand();
    } else if (unit == "packet" && verb == "wait") {
      step.action = Action::receive;
      step.instruction.destination = read_register();
    } else {
      fail("a NIC does not know '" + std::string(unit) + "." + std::string(verb) + "'");
    }
  }

  void read_dma(Step& step, std::string_view verb) {
    litmus::Instruction& instruction = step.instruction;
    if (verb == "wait") {
      step.action = Action::wait;
    } else if (verb == "read") {
      read_read(step);
    } else if (verb == "write") {
      step.action = Action::write;
      instruction.location = read_location();
      while (cursor_.accept(",")) step.values.push_back(read_operand());
      check_words(instruction.location, step.values.size());
    } else if (verb == "cqe") {
      step.action = Action::cqe;
      instruction.location = read_location();
      check_words(instruction.location, kCqeWords);
      comma();
      instruction.left = read_operand();
    } else if (verb == "add" || verb == "swap") {
      step.action = verb == "add" ? Action::add : Action::swap;
      instruction.destination = read_register();
      comma();
      instruction.location = read_location();
      comma();
      instruction.left = read_operand();
    } else {
      fail("a NIC's DMA does not know '" + std::string(verb) + "'");
    }
  }

  void read_read(Step& step) {
    step.action = Action::read;
    const std::string_view first = cursor_.expect_word("a register");
    if (cursor_.failed()) return;
    if (!litmus::is_register_name(first)) return fail("expected a register");
    comma();
    step.instruction.location = read_location();
    step.number = 1;
    if (cursor_.accept(",")) {
      step.number = static_cast<std::uint32_t>(cursor_.expect_number("a count of words"));
    }
    check_words(step.instruction.location, step.number);
    std::uint32_t number = 0;
    for (const char digit : first.substr(1)) {
      number = number * 10 + static_cast<std::uint32_t>(digit - '0');
    }
    for (std::uint32_t i = 0; i < step.number; ++i) {
      const std::string name = "r" + std::to_string(number + i);
      step.destinations.push_back(litmus::register_number(thread_, name));
    }
  }

  // The words from `location` on must lie in one region.
  void check_words(std::uint32_t location, std::size_t count) {
    if (cursor_.failed()) return;
    const std::size_t last = location + count - 1;
    const bool fits = count != 0 && last < program_.words.size() &&
                      program_.layout.find(program_.words[location].offset) ==
                          program_.layout.find(program_.words[last].offset);
    if (!fits) fail("there are not so many words in that region");
  }

  void comma() { cursor_.expect(",", "between operands"); }

  std::uint32_t read_register() {
    const std::string_view name = cursor_.expect_word("a register");
    if (cursor_.failed()) return 0;
    if (!litmus::is_register_name(name)) fail("'" + std::string(name) + "' is no register");
    return litmus::register_number(thread_, name);
  }

  std::uint32_t read_location() {
    const std::string_view name = cursor_.expect_word("a word");
    if (cursor_.failed()) return 0;
    const std::uint32_t number = litmus::location_number(program_.base, name);
    if (number >= program_.words.size()) fail("'" + std::string(name) + "' is in no region");
    return number;
  }

  Operand read_operand() {
    Operand operand;
    if (cursor_.peek().kind == TokenKind::number) {
      operand.value = cursor_.take().value;
    } else {
      operand.is_register = true;
      operand.number = read_register();
    }
    return operand;
  }

  Cursor& cursor_;
  Program& program_;
  litmus::Thread& thread_;
  const bool is_nic_;
};

}  // namespace

Step parse_step(Cursor& cursor, Program& program, std::size_t column) {
  return Reader(cursor, program, column).read();
}

std::uint32_t parse_nic(Cursor& cursor, Program& program, std::string_view name) {
  const bool fits =
      name.size() == 4 && name.substr(0, 3) == "NIC" && name[3] >= '0' && name[3] <= '9';
  if (!fits) {
    cursor.fail(Code::invalid_argument, "expected NIC0 to NIC9, found '" + std::string(name) + "'");
    return 0;
  }
  const auto number = static_cast<std::uint32_t>(name[3] - '0');
  program.pes = std::max(program.pes, number + 1);
  return number;
}

}  // namespace gdakit::sim::niclitmus
