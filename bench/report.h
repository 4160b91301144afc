// What a bench found: tables for people, JSON for scripts/bench.
//
//   Report report("latency_bench");
//   Table& table = report.add_table("put and quiet", {{"queues"}, {"median", "us"}});
//   table.add_row({"GPU", 5.21});
//   report.add_note("the clock is the GPU's %globaltimer");
//   report.print(stdout);
//
// JSON: {"bench", "gpu": {name: text}, "tables": [{"name", "title", "columns": [{"name", "unit"}],
// "rows": [[cell]]}], "notes": [text]}. A cell is a number, a text, or null where there is nothing.
#pragma once

#include <cstdio>
#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"

namespace gdakit::bench {

struct Column {
  std::string name;
  std::string unit;  // empty where it has none
};

// Nothing, a number, or a text.
class Cell {
 public:
  Cell() = default;
  Cell(double number) : value_(number) {}
  Cell(int number) : value_(static_cast<double>(number)) {}
  Cell(unsigned number) : value_(static_cast<double>(number)) {}
  Cell(unsigned long number) : value_(static_cast<double>(number)) {}
  Cell(std::string text) : value_(std::move(text)) {}
  Cell(const char* text) : value_(std::string(text)) {}

  const double* number() const { return std::get_if<double>(&value_); }
  // As the printed table shows it: whole numbers exactly, others with four digits.
  std::string text() const;

 private:
  std::variant<std::monostate, double, std::string> value_;
};

struct Table {
  std::string name;   // by which scripts/bench finds it; the title if none was given
  std::string title;  // what is measured, in a sentence
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;

  // As many cells as there are columns.
  void add_row(std::vector<Cell> cells);
};

class Report {
 public:
  explicit Report(std::string bench) : bench_(std::move(bench)) {}

  // The reference stays valid while the report lives.
  Table& add_table(std::string title, std::vector<Column> columns, std::string name = "");
  void add_note(std::string note) { notes_.push_back(std::move(note)); }
  // A fact about the machine, such as the GPU's name.
  void add_fact(std::string name, std::string text) {
    facts_.emplace_back(std::move(name), std::move(text));
  }

  const std::string& bench() const { return bench_; }
  const std::deque<Table>& tables() const { return tables_; }

  void print(std::FILE* to) const;
  Result<void> write_json(const std::string& path) const;

 private:
  std::string bench_;
  std::vector<std::pair<std::string, std::string>> facts_;
  std::deque<Table> tables_;
  std::vector<std::string> notes_;
};

}  // namespace gdakit::bench
