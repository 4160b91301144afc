// Reads the reference tables of tests/data: comma-separated values with a header line, where a
// value with commas stands in double quotes.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace gdakit::format {

// One row by column name.
using CsvRow = std::map<std::string, std::string>;

inline std::vector<std::string> split_csv_line(const std::string& line) {
  std::vector<std::string> values(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  return values;
}

// The rows of `path`, relative to the root of the repository; empty if it cannot be read. A row
// with more or fewer values than the header has the one value "malformed", which no test expects.
inline std::vector<CsvRow> read_csv(const std::string& path) {
  std::vector<CsvRow> rows;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = split_csv_line(line);
  while (std::getline(file, line)) {
    const std::vector<std::string> values = split_csv_line(line);
    CsvRow& row = rows.emplace_back();
    if (values.size() != header.size()) {
      row["malformed"] = line;
      continue;
    }
    for (std::size_t i = 0; i < header.size(); ++i) row[header[i]] = values[i];
  }
  return rows;
}

}  // namespace gdakit::format
