#include "tests/litmus/collection.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "core/base/assert.h"
#include "sim/litmus/parser.h"
#include "tools/litmus_expectations.h"

namespace gdakit::sim::litmus {
namespace {

constexpr const char* kFolders[] = {"tests/litmus/ptx", "tests/litmus/hand"};

std::string title_of(const std::string& name) {
  std::string title;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain) {
      title += c;
    } else if (!title.empty() && title.back() != '_') {
      title += '_';
    }
  }
  return title;
}

// The use "not-shown-own" names the cause "own".
std::string missed_by(const std::string& use) {
  constexpr std::string_view kStart = "not-shown-";
  return use.starts_with(kStart) ? use.substr(kStart.size()) : std::string();
}

std::vector<Entry> read_collection() {
  std::vector<Entry> entries;
  for (const char* folder : kFolders) {
    auto verdicts = tools::Expectations::read(std::string(folder) + "/verdicts.csv");
    GDAKIT_ASSERT(static_cast<bool>(verdicts));
    const std::size_t first = entries.size();
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (file.path().extension() != ".litmus") continue;
      // The column witness_verdict does not depend on the quantifier.
      const auto* known = verdicts->find(file.path().filename().string(), Quantifier::exists);
      GDAKIT_ASSERT(known != nullptr);
      entries.push_back({file.path().string(), title_of(file.path().stem().string()),
                         known->forbidden, known->use, missed_by(known->use)});
    }
    std::sort(entries.begin() + static_cast<std::ptrdiff_t>(first), entries.end(),
              [](const Entry& a, const Entry& b) { return a.path < b.path; });
  }
  return entries;
}

}  // namespace

const std::vector<Entry>& collection() {
  static const std::vector<Entry> entries = read_collection();
  return entries;
}

Program load(const Entry& entry) {
  Result<Program> program = parse_file(entry.path);
  GDAKIT_ASSERT(static_cast<bool>(program));
  return std::move(*program);
}

std::string report(const Program& program, const std::vector<Outcome>& outcomes) {
  std::string text = program.text;
  if (text.empty() || text.back() != '\n') text += '\n';
  for (const Outcome& outcome : outcomes) text += "  -> " + describe(program, outcome) + "\n";
  return text;
}

}  // namespace gdakit::sim::litmus
