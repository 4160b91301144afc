#include "sim/niclitmus/parser.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <utility>

#include "core/base/files.h"
#include "sim/litmus/condition_parser.h"
#include "sim/litmus/lexer.h"
#include "sim/litmus/symbols.h"
#include "sim/niclitmus/step_parser.h"

namespace gdakit::sim::niclitmus {
namespace {

using litmus::Cursor;
using litmus::Token;
using litmus::TokenKind;

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint32_t kWordBytes = 8;
constexpr std::uint32_t kRecordBytes = 4;
constexpr std::size_t kCqeWords = 8;

struct KindRow {
  std::string_view name;
  RegionKind kind;
};
constexpr std::array<KindRow, 8> kKinds = {{{"slots", RegionKind::slots},
                                            {"cqe", RegionKind::cqe},
                                            {"record", RegionKind::record},
                                            {"state", RegionKind::state},
                                            {"heap", RegionKind::heap},
                                            {"signal", RegionKind::signal},
                                            {"fetch", RegionKind::fetch},
                                            {"sink", RegionKind::sink}}};

// The quoted texts of the header, in their order, and the name before them.
struct Header {
  std::string name;
  std::vector<std::string> texts;
};

std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  return line;
}

Header read_header(std::string_view text) {
  Header header;
  std::istringstream words{std::string(text)};
  std::string format;
  words >> format >> header.name;
  if (format != "NIC") header.name.clear();
  for (std::size_t at = text.find('"'); at != std::string_view::npos;) {
    const std::size_t end = text.find('"', at + 1);
    if (end == std::string_view::npos) break;
    header.texts.push_back(in_one_line(text.substr(at + 1, end - at - 1)));
    at = text.find('"', end + 1);
  }
  return header;
}

// Where the first brace outside of quotes stands.
std::size_t header_end(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '{' && !quoted) return i;
  }
  return std::string_view::npos;
}

class Reader {
 public:
  Reader(Cursor& cursor, Program& program) : cursor_(cursor), program_(program) {}

  void read() {
    read_regions();
    read_agents();
    while (!cursor_.at_end() && !cursor_.at("exists")) read_row();
    cursor_.expect("exists", "before the condition");
    program_.base.condition = litmus::parse_condition(cursor_, program_.base);
    while (!cursor_.at_end()) read_verdict();
    if (program_.verdicts.empty()) fail("a test needs a verdict");
    if (program_.words.size() != program_.base.locations.size()) {
      fail("'" + program_.base.locations.back().name + "' is in no region");
    }
  }

 private:
  void fail(const std::string& text) { cursor_.fail(Code::invalid_argument, text); }

  // Regions.

  void read_regions() {
    cursor_.expect("{", "before the regions");
    while (!cursor_.at_end() && !cursor_.accept("}")) {
      if (!cursor_.accept(";")) read_region();
    }
    program_.bytes_per_pe = next_offset_;
  }

  void read_region() {
    std::uint32_t pe = 0;
    if (cursor_.peek().kind == TokenKind::number) {
      pe = static_cast<std::uint32_t>(cursor_.take().value);
      cursor_.expect(":", "after the number of a PE");
    }
    program_.pes = std::max(program_.pes, pe + 1);
    Region region;
    if (cursor_.accept("host")) region.owner = Owner::host;
    if (cursor_.accept("in_order")) region.inbound = Inbound::in_order;
    if (cursor_.accept("relaxed")) region.inbound = Inbound::relaxed;
    const std::string_view kind = cursor_.expect_word("the kind of a region");
    const auto row = std::find_if(kKinds.begin(), kKinds.end(),
                                  [kind](const KindRow& known) { return known.name == kind; });
    if (row == kKinds.end()) return fail("there is no kind of region '" + std::string(kind) + "'");
    region.kind = row->kind;
    region.begin = region.end = next_offset_;
    const std::uint32_t bytes = region.kind == RegionKind::record ? kRecordBytes : kWordBytes;
    region.name = cursor_.peek().text;
    do {
      const std::string_view name = cursor_.expect_word("the name of a word");
      if (cursor_.failed()) return;
      if (litmus::is_register_name(name)) return fail("a word cannot be called like a register");
      const std::size_t known = program_.words.size();
      const std::uint32_t number = litmus::location_number(program_.base, name);
      if (number != known) return fail("'" + std::string(name) + "' is there twice");
      program_.words.push_back({pe, region.end, bytes});
      region.end += bytes;
      if (cursor_.accept("=")) {
        program_.base.locations[number].initial = cursor_.expect_number("an initial value");
      }
    } while (cursor_.peek().kind == TokenKind::word);
    if (region.kind == RegionKind::cqe && region.end - region.begin != 8 * kCqeWords) {
      return fail("a CQE has eight words");
    }
    next_offset_ = (region.end + kAlignment - 1) / kAlignment * kAlignment;
    program_.layout.add(std::move(region));
  }

  // Agents.

  void read_agents() {
    do {
      const std::string name(cursor_.expect_word("a thread (P0@cta 0,gpu 0) or a NIC (NIC0)"));
      litmus::Thread thread;
      thread.name = name;
      Agent agent;
      agent.is_nic = name.substr(0, 3) == "NIC";
      if (agent.is_nic) {
        agent.pe = parse_nic(cursor_, program_, name);
      } else {
        cursor_.expect("@", "after the thread's name");
        cursor_.expect("cta", "as the thread's place");
        thread.place.block = static_cast<std::uint32_t>(cursor_.expect_number("a cta"));
        cursor_.expect(",", "after the number of the cta");
        cursor_.expect("gpu", "as the thread's place");
        thread.place.gpu = static_cast<std::uint32_t>(cursor_.expect_number("a gpu"));
        // A cta's number counts on its gpu; a block's number counts everywhere.
        thread.place.block += thread.place.gpu << 16;
      }
      program_.base.threads.push_back(std::move(thread));
      program_.agents.push_back(std::move(agent));
    } while (cursor_.accept("|"));
    cursor_.expect(";", "after the threads");
  }

  void read_row() {
    std::size_t column = 0;
    do {
      if (column == program_.agents.size()) return fail("the row has more cells than agents");
      if (!cursor_.at("|") && !cursor_.at(";")) {
        program_.agents[column].steps.push_back(parse_step(cursor_, program_, column));
      }
      ++column;
    } while (cursor_.accept("|"));
    cursor_.expect(";", "after a row");
  }

  // Verdicts.

  void read_verdict() {
    cursor_.expect("verdict", "after the condition");
    Verdict verdict;
    while (!cursor_.at_end() && !cursor_.at(":")) read_setting(verdict);
    cursor_.expect(":", "after the setting of a verdict");
    verdict.allowed = cursor_.accept("allowed");
    if (!verdict.allowed) cursor_.expect("forbidden", "or allowed, as the verdict");
    verdict.race = cursor_.accept("race");
    if (cursor_.failed()) return;
    program_.verdicts.push_back(std::move(verdict));
  }

  void read_setting(Verdict& verdict) {
    const Token name = cursor_.take();
    verdict.setting += (verdict.setting.empty() ? "" : " ") + std::string(name.text);
    if (!cursor_.accept("=")) {
      if (name.text == "default") return;
      const Result<Knobs> preset = knobs_of_gpu(name.text);
      if (!preset) return fail(preset.error().message());
      verdict.knobs = *preset;
      return;
    }
    const Token value = cursor_.take();
    verdict.setting += "=" + std::string(value.text);
    const Result<> set = set_knob(verdict.knobs, name.text, value.text);
    if (!set) fail(set.error().message());
  }

  Cursor& cursor_;
  Program& program_;
  std::uint64_t next_offset_ = 0;
};

}  // namespace

Result<Program> parse(std::string_view text, const std::string& name) {
  Program program;
  program.text = text;
  const std::string plain = litmus::without_comments(program.text);
  const std::size_t begin = header_end(plain);
  const Header header = read_header(std::string_view(plain).substr(0, begin));
  if (begin == std::string::npos || header.name.empty() || header.texts.size() != 2) {
    return Error(Code::invalid_argument,
                 name +
                     ":1: a test begins with 'NIC', its name, a quoted question, and a quoted "
                     "fact; then follow the regions in braces");
  }
  program.name = program.base.name = header.name;
  program.question = header.texts[0];
  program.fact = header.texts[1];
  const auto lines = std::count(plain.begin(), plain.begin() + static_cast<long>(begin), '\n');
  Cursor cursor(name, std::string_view(plain).substr(begin), static_cast<std::uint32_t>(lines + 1));
  Reader(cursor, program).read();
  if (cursor.failed()) return cursor.error();
  return program;
}

Result<Program> parse_file(const std::string& path) {
  const Result<std::string> text = read_file(path, "the litmus test");
  if (!text) return text.error();
  return parse(*text, path.substr(path.rfind('/') + 1));
}

}  // namespace gdakit::sim::niclitmus
