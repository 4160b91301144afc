#include "bench/report.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>

#include "core/base/json.h"

namespace gdakit::bench {
namespace {

std::string number_text(double number) {
  char text[64];
  const bool whole = number == std::floor(number) && std::abs(number) < 1e15;
  std::snprintf(text, sizeof(text), whole ? "%.0f" : "%.4g", number);
  return text;
}

std::string heading(const Column& column) {
  return column.unit.empty() ? column.name : column.name + " (" + column.unit + ")";
}

void print_table(const Table& table, std::FILE* to) {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : table.columns) lines[0].push_back(heading(column));
  for (const auto& row : table.rows) {
    lines.emplace_back();
    for (const Cell& cell : row) lines.back().push_back(cell.text());
  }
  std::vector<std::size_t> width(table.columns.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  }
  std::fprintf(to, "\n# %s\n", table.title.c_str());
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (i > 0) text += "  ";
      text += line[i] + std::string(width[i] - line[i].size(), ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    std::fprintf(to, "%s\n", text.c_str());
  }
}

void write_cell(JsonWriter& json, const Cell& cell) {
  if (const double* const number = cell.number()) {
    json.value(*number);
  } else if (cell.text().empty()) {
    json.null();
  } else {
    json.value(cell.text());
  }
}

void write_table(JsonWriter& json, const Table& table) {
  json.begin_object();
  json.member("name", table.name);
  json.member("title", table.title);
  json.key("columns");
  json.begin_array();
  for (const Column& column : table.columns) {
    json.begin_object();
    json.member("name", column.name);
    json.member("unit", column.unit);
    json.end();
  }
  json.end();
  json.key("rows");
  json.begin_array();
  for (const auto& row : table.rows) {
    json.begin_array();
    for (const Cell& cell : row) write_cell(json, cell);
    json.end();
  }
  json.end();
  json.end();
}

}  // namespace

std::string Cell::text() const {
  if (const double* const value = number()) return number_text(*value);
  const auto* const text = std::get_if<std::string>(&value_);
  return text == nullptr ? "" : *text;
}

void Table::add_row(std::vector<Cell> cells) {
  GDAKIT_ASSERT(cells.size() == columns.size());
  rows.push_back(std::move(cells));
}

Table& Report::add_table(std::string title, std::vector<Column> columns, std::string name) {
  if (name.empty()) name = title;
  return tables_.emplace_back(Table{std::move(name), std::move(title), std::move(columns), {}});
}

void Report::print(std::FILE* to) const {
  for (const auto& [name, text] : facts_) {
    std::fprintf(to, "%s: %s\n", name.c_str(), text.c_str());
  }
  for (const Table& table : tables_) print_table(table, to);
  for (const std::string& note : notes_) std::fprintf(to, "\n%s\n", note.c_str());
  std::fflush(to);
}

Result<void> Report::write_json(const std::string& path) const {
  std::ofstream out(path);
  JsonWriter json(out);
  json.begin_object();
  json.member("bench", bench_);
  json.key("gpu");
  json.begin_object();
  for (const auto& [name, text] : facts_) json.member(name, text);
  json.end();
  json.key("tables");
  json.begin_array();
  for (const Table& table : tables_) write_table(json, table);
  json.end();
  json.key("notes");
  json.begin_array();
  for (const std::string& note : notes_) json.value(note);
  json.end();
  json.end();
  out.flush();
  if (!out) return Error::from_errno("the figures cannot be written to " + path, errno);
  return {};
}

}  // namespace gdakit::bench
