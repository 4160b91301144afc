#include "sim/litmus/parser.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/files.h"
#include "sim/litmus/condition_parser.h"
#include "sim/litmus/instruction_parser.h"
#include "sim/litmus/lexer.h"
#include "sim/litmus/symbols.h"

namespace gdakit::sim::litmus {
namespace {

// Enough for every test of the collection; a test of more is explored for ever.
constexpr std::size_t kMaxThreads = 16;
constexpr std::size_t kMaxLocations = 32;

constexpr std::array<std::string_view, 7> kAfterCode = {"exists", "~",     "not",      "forall",
                                                        "filter", "final", "locations"};

struct InitialRegister {
  std::string thread, name;
  std::int64_t value = 0;
  std::uint32_t line = 0;
};

class Reader {
 public:
  Reader(Cursor& cursor, Program& program) : cursor_(cursor), program_(program) {}

  void read() {
    read_initial_values();
    read_threads();
    set_initial_registers();
    while (!cursor_.at_end() && !at_after_code()) read_row();
    resolve_labels();
    read_listed();
    if (cursor_.accept("filter")) {
      program_.filter = parse_condition(cursor_, program_);
      cursor_.accept(";");
    }
    read_quantifier();
    program_.condition = parse_condition(cursor_, program_);
    cursor_.accept(";");
    if (!cursor_.at_end()) {
      cursor_.fail(Code::invalid_argument,
                   "'" + std::string(cursor_.peek().text) + "' after the condition");
    }
    if (program_.locations.size() > kMaxLocations) {
      cursor_.fail(Code::unavailable, "more than 32 locations are not modelled");
    }
  }

 private:
  struct Jump {
    std::size_t thread, instruction;
    std::string label;
  };

  bool at_after_code() const {
    return std::find(kAfterCode.begin(), kAfterCode.end(), cursor_.peek().text) != kAfterCode.end();
  }

  void read_initial_values() {
    cursor_.expect("{", "before the initial values");
    while (!cursor_.at_end() && !cursor_.accept("}")) {
      if (cursor_.accept(";")) continue;
      read_initial_value();
      if (!cursor_.at("}")) cursor_.expect(";", "after an initial value");
    }
    cursor_.accept(";");
  }

  void read_initial_value() {
    const Token first = cursor_.take();
    if (cursor_.at("@")) {
      return cursor_.fail(Code::unavailable, "'" + std::string(first.text) +
                                                 "' is an alias or of another proxy than the "
                                                 "generic one: this is not modelled");
    }
    if (cursor_.at("[")) return cursor_.fail(Code::unavailable, "an array is not modelled");
    if (cursor_.accept(":")) {
      const bool bare = first.kind == TokenKind::number;
      const std::string thread = (bare ? "P" : "") + std::string(first.text);
      const std::string name(cursor_.expect_word("a register"));
      registers_.push_back({thread, name, read_initial_constant(), first.line});
      return;
    }
    if (first.kind != TokenKind::word) {
      return cursor_.fail_at(first.line, Code::invalid_argument,
                             "expected a location or a register among the initial values, found '" +
                                 std::string(first.text) + "'");
    }
    const std::uint32_t number = location_number(program_, first.text);
    program_.locations[number].initial = read_initial_constant();
  }

  std::int64_t read_initial_constant() {
    cursor_.expect("=", "before an initial value");
    if (cursor_.at("&") || cursor_.peek().kind == TokenKind::word) {
      cursor_.fail(Code::unavailable, "the address of a location as a value ('" +
                                          std::string(cursor_.peek().text) + "') is not modelled");
    }
    return cursor_.expect_number("a number as an initial value");
  }

  // "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;"
  void read_threads() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> blocks;
    do {
      Thread thread;
      thread.name = cursor_.expect_word("a thread (P0@cta 0,gpu 0)");
      cursor_.expect("@", "after the thread's name");
      cursor_.expect("cta", "as the thread's place");
      const auto cta = static_cast<std::uint32_t>(cursor_.expect_number("the number of the cta"));
      cursor_.expect(",", "after the number of the cta");
      cursor_.expect("gpu", "as the thread's place");
      const auto gpu = static_cast<std::uint32_t>(cursor_.expect_number("the number of the gpu"));
      if (cursor_.failed()) return;
      // A cta's number counts on its gpu; a block's number counts everywhere.
      const auto block = static_cast<std::uint32_t>(blocks.size());
      thread.place = {blocks.try_emplace({gpu, cta}, block).first->second, gpu};
      program_.threads.push_back(std::move(thread));
    } while (cursor_.accept("|"));
    cursor_.expect(";", "after the threads");
    if (program_.threads.size() > kMaxThreads) {
      cursor_.fail(Code::unavailable, "more than 16 threads are not modelled");
    }
    labels_.resize(program_.threads.size());
  }

  void set_initial_registers() {
    for (const InitialRegister& initial : registers_) {
      const auto found =
          std::find_if(program_.threads.begin(), program_.threads.end(),
                       [&](const Thread& thread) { return thread.name == initial.thread; });
      // Some tests give values to registers of threads they do not have: nobody can see those.
      if (found == program_.threads.end()) continue;
      found->initial[register_number(*found, initial.name)] = initial.value;
    }
  }

  void read_row() {
    std::size_t column = 0;
    do {
      if (column == program_.threads.size()) {
        return cursor_.fail(Code::invalid_argument, "the row has more cells than threads");
      }
      read_cell(column);
      ++column;
    } while (cursor_.accept("|"));
    cursor_.expect(";", "at the end of a row");
  }

  void read_cell(std::size_t column) {
    Thread& thread = program_.threads[column];
    while (cursor_.peek(1).text == ":") {
      const Token label = cursor_.take();
      cursor_.take();
      const auto target = static_cast<std::uint32_t>(thread.code.size());
      if (!labels_[column].emplace(label.text, target).second) {
        cursor_.fail_at(
            label.line, Code::invalid_argument,
            "the label '" + std::string(label.text) + "' stands twice in " + thread.name);
      }
    }
    if (cursor_.at("|") || cursor_.at(";") || cursor_.at_end()) return;
    std::string label;
    thread.code.push_back(parse_instruction(cursor_, program_, thread, label));
    if (!label.empty()) jumps_.push_back({column, thread.code.size() - 1, label});
  }

  void resolve_labels() {
    for (const Jump& jump : jumps_) {
      Instruction& instruction = program_.threads[jump.thread].code[jump.instruction];
      const auto found = labels_[jump.thread].find(jump.label);
      if (found == labels_[jump.thread].end()) {
        return cursor_.fail_at(instruction.line, Code::invalid_argument,
                               "the label '" + jump.label + "' does not stand in " +
                                   program_.threads[jump.thread].name);
      }
      instruction.target = found->second;
    }
  }

  // "locations [x; P1:r0;]" asks a tool to print these; they are nothing that is judged.
  void read_listed() {
    if (!cursor_.accept("locations")) return;
    cursor_.expect("[", "after 'locations'");
    while (!cursor_.at_end() && !cursor_.accept("]")) cursor_.take();
  }

  void read_quantifier() {
    if (cursor_.accept("~") || cursor_.accept("not")) {
      cursor_.expect("exists", "after '~'");
      program_.quantifier = Quantifier::not_exists;
    } else if (cursor_.accept("forall")) {
      program_.quantifier = Quantifier::forall;
    } else if (cursor_.at("final")) {
      cursor_.fail(Code::unavailable, "the condition 'final' is not modelled");
    } else {
      cursor_.expect("exists", "(or ~exists or forall) after the code");
    }
  }

  Cursor& cursor_;
  Program& program_;
  std::vector<InitialRegister> registers_;
  std::vector<std::map<std::string, std::uint32_t, std::less<>>> labels_;  // of each thread
  std::vector<Jump> jumps_;
};

// Where the text before the first brace outside of quotes ends.
std::size_t header_end(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '{' && !quoted) return i;
  }
  return text.size();
}

}  // namespace

Result<Program> parse(std::string_view text, const std::string& name) {
  const std::string cleaned = without_comments(text);
  std::istringstream header(cleaned);
  std::string language;
  Program program;
  header >> language >> program.name;
  if (language != "PTX" && language != "ptx") {
    return Error(Code::invalid_argument,
                 name + ":1: a PTX litmus test begins with 'PTX' and its name, not with '" +
                     language.substr(0, 40) + "'");
  }
  program.text = text;
  const std::string_view all = cleaned;
  const std::size_t end = header_end(all);
  const auto line =
      static_cast<std::uint32_t>(1 + std::count(all.begin(), all.begin() + end, '\n'));
  Cursor cursor(name, all.substr(end), line);
  Reader(cursor, program).read();
  if (cursor.failed()) return cursor.error();
  return program;
}

Result<Program> parse_file(const std::string& path) {
  const Result<std::string> text = read_file(path, "the litmus test");
  if (!text) return text.error();
  const std::size_t slash = path.find_last_of('/');
  return parse(*text, slash == std::string::npos ? path : path.substr(slash + 1));
}

}  // namespace gdakit::sim::litmus
