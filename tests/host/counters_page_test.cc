// docs/counters.md has a row for each counter of the table, as the table has it, and no other.
#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/files.h"
#include "core/host/counter_table.h"

namespace gdakit {
namespace {

std::string page_row(const CounterRow& row) {
  std::string text = "| `" + std::string(row.name) + "` | " + std::string(row.unit) + " | ";
  return text + std::string(row.what) + " |";
}

TEST(CountersPage, HasTheRowsOfTheTable) {
  const Result<std::string> page = read_file(GDAKIT_SOURCES "/docs/counters.md", "the page");
  ASSERT_TRUE(page) << page.error().message();
  std::string found, expected;
  std::istringstream lines(*page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| `")) found += line + '\n';
  }
  for (const CounterRow& row : counter_table()) expected += page_row(row) + '\n';
  EXPECT_EQ(found, expected);
}

TEST(CounterTable, NamesEachCounterOnce) {
  for (const CounterRow& row : counter_table()) {
    EXPECT_EQ(std::ranges::count(counter_table(), row.name, &CounterRow::name), 1) << row.name;
    EXPECT_EQ(std::ranges::count(counter_table(), row.member, &CounterRow::member), 1) << row.name;
  }
}

}  // namespace
}  // namespace gdakit
