#include "tools/litmus_expectations.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "core/base/files.h"

namespace gdakit::tools {
namespace {

using sim::litmus::Quantifier;

// The fields of one line; a field may stand in quotes, with quotes in it doubled.
std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

std::string without_folders(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// The columns of a header; none if the line is no header.
struct Columns {
  std::size_t file = 0, verdict = 0;
  std::optional<std::size_t> use;
};

std::optional<Columns> columns_of(const std::vector<std::string>& header) {
  const auto find = [&](const char* name) -> std::optional<std::size_t> {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) return std::nullopt;
    return static_cast<std::size_t>(found - header.begin());
  };
  const auto file = find("file");
  const auto verdict = find("witness_verdict");
  if (!file || !verdict) return std::nullopt;
  return Columns{*file, *verdict, find("use")};
}

}  // namespace

Result<Expectations> Expectations::parse(std::string_view text, const std::string& name) {
  Expectations all;
  std::optional<Columns> columns;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::vector<std::string> fields = split(line);
    if (fields.size() == 1 && fields.front().empty()) continue;
    if (number == 1 && (columns = columns_of(fields))) continue;
    const auto wrong = [&](const std::string& what) {
      return Error(Code::invalid_argument, name + ":" + std::to_string(number) + ": " + what);
    };
    Row row;
    if (columns) {
      if (fields.size() <= std::max(columns->file, columns->verdict)) {
        return wrong("a column is missing");
      }
      const std::string& verdict = fields[columns->verdict];
      if (verdict != "allowed" && verdict != "forbidden") {
        return wrong("the verdict is 'allowed' or 'forbidden', not '" + verdict + "'");
      }
      row.expectation.file = without_folders(fields[columns->file]);
      row.expectation.forbidden = verdict == "forbidden";
      if (columns->use && *columns->use < fields.size())
        row.expectation.use = fields[*columns->use];
    } else {
      const bool known = fields.size() == 2 && (fields[1] == "0" || fields[1] == "1");
      if (!known) {
        return wrong("expected the columns file and witness_verdict, or a path and 0 or 1");
      }
      row.expectation.file = without_folders(fields[0]);
      row.as_it_stands = true;
      row.holds = fields[1] == "1";
    }
    all.rows_.push_back(std::move(row));
  }
  return all;
}

Result<Expectations> Expectations::read(const std::string& path) {
  const Result<std::string> text = read_file(path, "the verdicts");
  if (!text) return text.error();
  return parse(*text, path);
}

const Expectation* Expectations::find(std::string_view file, Quantifier quantifier) {
  for (Row& row : rows_) {
    if (row.expectation.file != file) continue;
    // `exists C` is true if C can be seen; the other two are if their witness cannot.
    if (row.as_it_stands) {
      row.expectation.forbidden = row.holds != (quantifier == Quantifier::exists);
    }
    return &row.expectation;
  }
  return nullptr;
}

Judgement judge(const sim::litmus::Program& program, const sim::litmus::Summary& summary,
                const Expectation* expectation) {
  const bool seen = summary.witnesses != 0;
  const bool forbidden =
      expectation != nullptr ? expectation->forbidden : program.quantifier != Quantifier::exists;
  if (forbidden) {
    if (seen) return Judgement::forbidden;
    return summary.complete ? Judgement::fine : Judgement::open;
  }
  if (seen || expectation == nullptr) return Judgement::fine;
  return summary.complete ? Judgement::missed : Judgement::open;
}

}  // namespace gdakit::tools
