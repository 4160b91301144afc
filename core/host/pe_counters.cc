#include "core/host/pe_counters.h"

#include <algorithm>

namespace gdakit {
namespace {

std::string label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + std::string(value) + '"';
}

void begin_metric(std::string& text, std::string_view name, const std::string& help,
                  std::string_view type) {
  text += "# HELP " + std::string(name) + ' ' + help + "\n# TYPE " + std::string(name) + ' ';
  text += std::string(type) + '\n';
}

void add_sample(std::string& text, std::string_view name, const std::string& labels,
                const std::string& value) {
  text += std::string(name) + '{' + labels + "} " + value + '\n';
}

std::string seconds(std::uint64_t ms) {
  return std::to_string(ms / 1000) + '.' + std::to_string(1000 + ms % 1000).substr(1);
}

void add_time(std::string& text, std::string_view name, const std::string& help,
              std::span<const PeCounters> pes, std::uint64_t PeCounters::*time) {
  begin_metric(text, name, help, "gauge");
  for (const PeCounters& pe : pes) {
    add_sample(text, name, label("pe", std::to_string(pe.pe)), seconds(pe.*time));
  }
}

std::string queue_labels(const PeCounters& pe, const PeCounters::Queue& queue) {
  std::string labels = label("pe", std::to_string(pe.pe));
  labels += ',' + label("qp", std::to_string(queue.number));
  if (!queue.position) return labels;
  labels += ',' + label("peer", std::to_string(queue.position->peer));
  return labels + ',' + label("queue", std::to_string(queue.position->index));
}

void add_counter(std::string& text, const CounterRow& row, std::span<const PeCounters> pes) {
  if (std::ranges::none_of(pes, [&](const PeCounters& pe) { return pe.knows(row); })) return;
  const std::string name =
      std::string(kMetricPrefix) + std::string(row.name) + std::string(kCounterSuffix);
  begin_metric(text, name, std::string(row.what) + " (" + std::string(row.unit) + ')', "counter");
  const std::string_view syndrome = syndrome_label(row.syndrome);
  const std::string cause = syndrome.empty() ? "" : ',' + label("syndrome", syndrome);
  for (const PeCounters& pe : pes) {
    if (!pe.knows(row)) continue;
    const std::string of_pe = label("pe", std::to_string(pe.pe));
    if (row.of == CounterOf::nic) {
      add_sample(text, name, of_pe, std::to_string(value_of(pe.nic, row)));
      continue;
    }
    if (!pe.knows_queues()) {
      add_sample(text, name, of_pe + ',' + label("qp", kAll) + cause,
                 std::to_string(value_of(pe.nic, row)));
      continue;
    }
    std::uint64_t gone = value_of(pe.nic, row);
    for (const PeCounters::Queue& queue : pe.queues) {
      const std::uint64_t value = value_of(queue.counters, row);
      add_sample(text, name, queue_labels(pe, queue) + cause, std::to_string(value));
      gone -= value;
    }
    if (gone == 0) continue;
    add_sample(text, name, of_pe + ',' + label("qp", kGone) + cause, std::to_string(gone));
  }
}

void add_broken(std::string& text, std::span<const PeCounters> pes) {
  begin_metric(text, kBroken, "Whether an error has broken the queue pair", "gauge");
  for (const PeCounters& pe : pes) {
    for (const PeCounters::Queue& queue : pe.queues) {
      if (queue.broken)
        add_sample(text, kBroken, queue_labels(pe, queue), *queue.broken ? "1" : "0");
    }
  }
}

}  // namespace

std::string prometheus_text(std::span<const PeCounters> pes) {
  std::string text;
  add_time(text, kStartTime, "When the PE began to count, in seconds since 1970", pes,
           &PeCounters::started_ms);
  add_time(text, kSampleTime, "When these counts were taken, in seconds since 1970", pes,
           &PeCounters::sampled_ms);
  add_broken(text, pes);
  for (const CounterRow& row : counter_table()) add_counter(text, row, pes);
  return text;
}

}  // namespace gdakit
