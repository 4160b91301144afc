#include "tools/top_table.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <type_traits>

namespace gdakit::tools {
namespace {

using N = NicCounters;

constexpr double kOldSeconds = 2.5;  // five files late

// One line: its first cells, and a number for each column.
struct Line {
  std::vector<std::string> place;
  int pe = 0;
  std::vector<std::optional<double>> numbers;
  std::string state;  // of a queue
};

std::string text_of(const char* format, double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

// Whether it is known of the PE's NIC, or of each of its queues.
template <class Counters>
bool has(const PeCounters& pe, const TopColumn& column) {
  const bool of_nic = std::is_same_v<Counters, NicCounters>;
  if (!of_nic && (!pe.knows_queues() || column.of != CounterOf::queue)) return false;
  return std::ranges::all_of(column.counters, [&pe](std::uint64_t N::*member) {
    return pe.knows(*std::ranges::find(counter_table(), member, &CounterRow::member));
  });
}

template <class Counters>
double sum_of(const Counters& counters, const TopColumn& column) {
  return std::accumulate(column.counters.begin(), column.counters.end(), 0.0,
                         [&](double sum, std::uint64_t N::*member) {
                           const auto own = static_cast<std::uint64_t Counters::*>(member);
                           return sum + static_cast<double>(counters.*own);
                         });
}

// `counted` since the file before, `now` since the beginning.
template <class Counters>
std::vector<std::optional<double>> numbers_of(const PeCounters& pe, const Counters& counted,
                                              const Counters& now, double seconds) {
  std::vector<std::optional<double>> numbers;
  for (const TopColumn& column : top_columns()) {
    if (!has<Counters>(pe, column)) {
      numbers.emplace_back();
    } else if (!column.is_rate) {
      numbers.emplace_back(sum_of(now, column));
    } else if (seconds > 0) {
      numbers.emplace_back(sum_of(counted, column) / seconds);
    } else {
      numbers.emplace_back();
    }
  }
  return numbers;
}

void add_lines(std::vector<Line>& lines, const TopPe& pe, TopBy by) {
  const bool known = pe.rates && pe.age_seconds < kOldSeconds;
  const double seconds = known ? pe.rates->seconds : 0;
  const PeCounters& counted = known ? pe.rates->counted : pe.now;
  const std::string rank = std::to_string(pe.now.pe);
  if (by == TopBy::pe) {
    lines.push_back({{rank}, pe.now.pe, numbers_of(pe.now, counted.nic, pe.now.nic, seconds), ""});
    return;
  }
  for (std::size_t i = 0; i < pe.now.queues.size(); ++i) {
    const PeCounters::Queue& queue = pe.now.queues[i];
    const std::string peer = queue.position ? std::to_string(queue.position->peer) : "-";
    const std::string index = queue.position ? std::to_string(queue.position->index) : "-";
    const char* const state = !queue.broken ? "-" : *queue.broken ? "broken" : "ok";
    lines.push_back({{rank, peer, index, std::to_string(queue.number)},
                     pe.now.pe,
                     numbers_of(pe.now, counted.queues[i].counters, queue.counters, seconds),
                     state});
  }
}

void sort_lines(std::vector<Line>& lines, std::string_view sort) {
  const auto column = std::ranges::find(top_columns(), sort, &TopColumn::name);
  if (column == top_columns().end()) return;  // they come by their PEs
  const auto index = static_cast<std::size_t>(column - top_columns().begin());
  std::ranges::stable_sort(lines, std::ranges::greater{},
                           [index](const Line& line) { return line.numbers[index].value_or(-1); });
}

std::string as_text(const std::vector<std::vector<std::string>>& cells) {
  std::vector<std::size_t> widths(cells.front().size());
  for (const auto& line : cells) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : cells) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += std::string(widths[i] - line[i].size() + (i == 0 ? 0 : 2), ' ') + line[i];
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::span<const TopColumn> top_columns() {
  static const std::vector<TopColumn> columns = {
      {"wqes", "WQEs/s", true, {&N::wqes}},
      {"doorbells", "doorbells/s", true, {&N::doorbells}},
      {"cqes", "CQEs/s", true, {&N::cqes}},
      {"tx-packets", "tx pkt/s", true, {&N::packets_sent}},
      {"rx-packets", "rx pkt/s", true, {&N::packets_received}},
      {"tx-bytes", "tx B/s", true, {&N::bytes_sent}},
      {"rx-bytes", "rx B/s", true, {&N::bytes_received}},
      {"retries", "retries/s", true, {&N::retries}},
      {"losses", "losses/s", true, {&N::out_of_sequence, &N::duplicate_request}},
      {"drops",
       "drops/s",
       true,
       {&N::dropped_packets, &N::rx_icrc_encapsulated, &N::udp_overrun, &N::udp_strangers,
        &N::udp_untrue_tags, &N::udp_too_long, &N::udp_malformed},
       CounterOf::nic},
      {"errors", "errors", false, {&N::req_cqe_error, &N::resp_cqe_error}},
  };
  return columns;
}

std::string short_number(double number) {
  static constexpr std::array kUnits = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t unit = 0;
  for (; number >= 999.5 && unit + 1 < kUnits.size(); ++unit) number /= 1000;
  const bool is_whole = unit == 0 && number == static_cast<double>(static_cast<int>(number));
  const char* const format = is_whole || number >= 99.95 ? "%.0f"
                             : number >= 9.995           ? "%.1f"
                                                         : "%.2f";
  return text_of(format, number) + kUnits[unit];
}

std::string top_table(std::span<const TopPe> pes, TopBy by, std::string_view sort) {
  std::vector<Line> lines;
  for (const TopPe& pe : pes) add_lines(lines, pe, by);
  sort_lines(lines, sort);
  std::vector<std::vector<std::string>> cells(1);
  cells[0] = by == TopBy::pe ? std::vector<std::string>{"PE"}
                             : std::vector<std::string>{"PE", "peer", "queue", "QP"};
  for (const TopColumn& column : top_columns()) cells[0].emplace_back(column.heading);
  if (by == TopBy::queue) cells[0].emplace_back("state");
  for (const Line& line : lines) {
    cells.push_back(line.place);
    for (const auto& number : line.numbers) {
      cells.back().push_back(number ? short_number(*number) : "-");
    }
    if (by == TopBy::queue) cells.back().push_back(line.state);
  }
  std::string text = as_text(cells);
  for (const TopPe& pe : pes) {
    if (pe.age_seconds < kOldSeconds) continue;
    text += "PE " + std::to_string(pe.now.pe) + " has written nothing for " +
            text_of("%.0f", pe.age_seconds) + " s: it has ended, or its process is stopped\n";
  }
  return text;
}

}  // namespace gdakit::tools
