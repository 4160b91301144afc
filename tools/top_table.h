// The table of `gdakit top`: a line for each PE, or for each of its queues.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/counter_rates.h"

namespace gdakit::tools {

enum class TopBy { pe, queue };

// A column: counters, added up, as so many a second or since the beginning.
struct TopColumn {
  std::string_view name;  // for --sort
  std::string_view heading;
  bool is_rate = true;
  std::vector<std::uint64_t NicCounters::*> counters;
  CounterOf of = CounterOf::queue;  // of the NIC: no queue has them
};
std::span<const TopColumn> top_columns();

struct TopPe {
  PeCounters now;
  std::optional<CounterRates> rates;  // absent: it has written one file only
  double age_seconds = 0;             // of its file
};

// "-" stands for a rate that nobody knows, of a PE with one file, or whose file is old, for what no
// queue has, and for what the NIC does not count, or not for each queue. `sort` is a column's name,
// whose greatest values come first, or "pe".
std::string top_table(std::span<const TopPe> pes, TopBy by, std::string_view sort);

// 950, 12.3k, 4.56M: three digits, and what they are multiplied with.
std::string short_number(double number);

}  // namespace gdakit::tools
