#include "tools/counters_report.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "core/base/json.h"

namespace gdakit::tools {
namespace {

void add_counters(JsonWriter& json, const PeCounters& pe) {
  for (const CounterRow& row : counter_table()) {
    if (pe.knows(row)) json.member(row.name, value_of(pe.nic, row));
  }
}

void add_counters(JsonWriter& json, const QueueCounters& counters) {
  for (const CounterRow& row : counter_table()) {
    if (row.of == CounterOf::queue) json.member(row.name, value_of(counters, row));
  }
}

void add_queue(JsonWriter& json, const PeCounters& pe, const PeCounters::Queue& queue) {
  json.begin_object();
  json.member("qp", queue.number);
  if (queue.position) {
    json.member("peer", queue.position->peer);
    json.member("queue", queue.position->index);
  }
  if (queue.broken) json.member("broken", *queue.broken);
  if (pe.knows_queues()) add_counters(json, queue.counters);
  json.end();
}

void add_pe(JsonWriter& json, const PeCounters& pe) {
  json.begin_object();
  json.member("pe", pe.pe);
  // The wall clock may have been set back since the PE began.
  const std::uint64_t counted_ms = pe.sampled_ms - std::min(pe.started_ms, pe.sampled_ms);
  json.member("seconds", static_cast<double>(counted_ms) / 1000);
  json.key("nic");
  json.begin_object();
  add_counters(json, pe);
  json.end();
  json.key("queues");
  json.begin_array();
  for (const PeCounters::Queue& queue : pe.queues) add_queue(json, pe, queue);
  json.end();
  json.end();
}

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

}  // namespace

std::string counters_json(std::span<const PeCounters> pes) {
  std::ostringstream text;
  JsonWriter json(text);
  json.begin_object();
  json.key("pes");
  json.begin_array();
  for (const PeCounters& pe : pes) add_pe(json, pe);
  json.end();
  json.end();
  return text.str();
}

std::string counters_table(std::span<const PeCounters> pes, std::string_view called) {
  using Line = std::vector<std::string>;
  const std::string name(called);
  std::vector<Line> lines = {{"counter", "all " + name + "s"}};
  for (const PeCounters& pe : pes) lines[0].push_back(name + " " + std::to_string(pe.pe));
  for (const CounterRow& row : counter_table()) {
    std::uint64_t sum = 0;
    for (const PeCounters& pe : pes) sum += value_of(pe.nic, row);
    if (sum == 0) continue;
    Line line = {std::string(row.name), std::to_string(sum)};
    for (const PeCounters& pe : pes) {
      line.push_back(pe.knows(row) ? std::to_string(value_of(pe.nic, row)) : "-");
    }
    lines.push_back(std::move(line));
  }
  std::string text;
  for (const Line& line : lines) {
    text += line[0] + std::string(30 - std::min<std::size_t>(30, line[0].size()), ' ');
    for (std::size_t i = 1; i < line.size(); ++i) {
      std::size_t width = 0;
      for (const Line& other : lines) width = std::max(width, other[i].size());
      text += "  " + padded(line[i], width);
    }
    text += '\n';
  }
  const bool all = std::ranges::all_of(pes, &PeCounters::knows_queues);
  return text + "All other counters are 0" + (all ? "" : ", or the NIC has none of them") +
         " (docs/counters.md says what they count).\n";
}

std::string counters_report(std::span<const PeCounters> pes, std::string_view path,
                            std::string_view called) {
  if (path.ends_with(".json")) return counters_json(pes);
  return path.ends_with(".prom") ? prometheus_text(pes) : counters_table(pes, called);
}

}  // namespace gdakit::tools
