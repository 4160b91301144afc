#include "bench/perf_lines.h"

#include <cctype>

namespace gdakit::bench {
namespace {

// Letters and digits stay; what is between them becomes one underscore.
std::string as_word(const std::string& text) {
  std::string word;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
  }
  while (!word.empty() && word.back() == '_') word.pop_back();
  return word;
}

bool is_time(const std::string& unit) { return unit == "s" || unit == "us" || unit == "ns"; }

void print_row(const std::string& label, const Table& table, const std::vector<Cell>& row,
               std::FILE* to) {
  std::string texts;
  for (const Cell& cell : row) {
    if (cell.number() == nullptr && !cell.text().empty()) texts += "_" + as_word(cell.text());
  }
  for (std::size_t i = 1; i < row.size(); ++i) {
    const double* const figure = row[i].number();
    if (figure == nullptr) continue;
    const Column& column = table.columns[i];
    std::fprintf(to, "&&&& PERF %s%s___size__%s___%s %f %c%s\n", label.c_str(), texts.c_str(),
                 row[0].text().c_str(), as_word(column.name).c_str(), *figure,
                 is_time(column.unit) ? '-' : '+', column.unit.c_str());
  }
}

}  // namespace

void print_perf_lines(const Report& report, std::FILE* to) {
  for (const Table& table : report.tables()) {
    if (table.columns.front().name != "size") continue;
    const std::string label = report.bench() + "___" + as_word(table.title);
    for (const auto& row : table.rows) print_row(label, table, row, to);
  }
  std::fflush(to);
}

}  // namespace gdakit::bench
