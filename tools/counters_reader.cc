#include "tools/counters_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "core/base/files.h"

namespace gdakit::tools {
namespace {

struct Sample {
  std::string_view name;
  std::map<std::string_view, std::string> labels;
  std::string_view value;
};

bool take(std::string_view& text, char expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(1);
  return true;
}

std::string_view take_until(std::string_view& text, std::string_view ends) {
  const std::string_view taken = text.substr(0, text.find_first_of(ends));
  text.remove_prefix(taken.size());
  return taken;
}

// What stands between quotes, without the escapes \\, \" and \n.
std::optional<std::string> take_quoted(std::string_view& text) {
  if (!take(text, '"')) return std::nullopt;
  std::string value;
  while (!text.empty() && text.front() != '"') {
    const bool is_escape = take(text, '\\');
    if (text.empty()) return std::nullopt;
    value += is_escape && text.front() == 'n' ? '\n' : text.front();
    text.remove_prefix(1);
  }
  if (!take(text, '"')) return std::nullopt;
  return value;
}

// name{label="value",...} value [time]
std::optional<Sample> parse_sample(std::string_view line) {
  Sample sample;
  sample.name = take_until(line, "{ ");
  if (sample.name.empty()) return std::nullopt;
  if (take(line, '{')) {
    while (!take(line, '}')) {
      const std::string_view label = take_until(line, "=");
      if (!take(line, '=')) return std::nullopt;
      std::optional<std::string> value = take_quoted(line);
      if (!value || !(line.starts_with(',') || line.starts_with('}'))) return std::nullopt;
      sample.labels[label] = std::move(*value);
      take(line, ',');
    }
  }
  if (!take(line, ' ')) return std::nullopt;
  sample.value = take_until(line, " ");
  return sample;
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
std::optional<T> label(const Sample& sample, std::string_view name) {
  const auto found = sample.labels.find(name);
  return found == sample.labels.end() ? std::nullopt : number<T>(found->second);
}

const CounterRow* row_of(std::string_view name) {
  if (!name.starts_with(kMetricPrefix) || !name.ends_with(kCounterSuffix)) return nullptr;
  name.remove_prefix(kMetricPrefix.size());
  name.remove_suffix(kCounterSuffix.size());
  const auto row = std::ranges::find(counter_table(), name, &CounterRow::name);
  return row == counter_table().end() ? nullptr : &*row;
}

// What has been read of a PE, and where among its queues each one stands.
struct ReadPe {
  PeCounters counters;
  std::unordered_map<QueueNumber, std::size_t> places;
  bool has_counts = false;
};

// By the labels; null: they name none.
PeCounters::Queue* queue_of(ReadPe& pe, const Sample& sample) {
  const auto number = label<QueueNumber>(sample, "qp");
  if (!number) return nullptr;
  std::vector<PeCounters::Queue>& queues = pe.counters.queues;
  const auto [place, is_new] = pe.places.try_emplace(*number, queues.size());
  if (is_new) queues.push_back({.number = *number});
  PeCounters::Queue& queue = queues[place->second];
  const auto peer = label<int>(sample, "peer");
  const auto index = label<std::uint32_t>(sample, "queue");
  if (peer && index) queue.position = {*peer, *index};
  return &queue;
}

// False: it is not what gdakit writes.
bool add_count(ReadPe& pe, const CounterRow& row, const Sample& sample) {
  const auto value = number<std::uint64_t>(sample.value);
  if (!value) return false;
  pe.counters.nic.*row.member += *value;
  pe.has_counts = true;
  const auto qp = sample.labels.find("qp");
  if (row.of == CounterOf::nic || (qp != sample.labels.end() && qp->second == kGone)) return true;
  if (qp != sample.labels.end() && qp->second == kAll) {
    pe.counters.counts = Counts::together;
    return true;
  }
  PeCounters::Queue* const queue = queue_of(pe, sample);
  if (queue == nullptr) return false;
  queue->counters.*static_cast<std::uint64_t QueueCounters::*>(row.member) += *value;
  return true;
}

bool add_broken(ReadPe& pe, const Sample& sample) {
  PeCounters::Queue* const queue = queue_of(pe, sample);
  if (queue == nullptr || (sample.value != "0" && sample.value != "1")) return false;
  queue->broken = sample.value == "1";
  return true;
}

bool add_time(std::uint64_t& time_ms, const Sample& sample) {
  const auto seconds = number<double>(sample.value);
  if (!seconds || !(*seconds >= 0 && *seconds < 1e12)) return false;
  time_ms = static_cast<std::uint64_t>(std::llround(*seconds * 1000));
  return true;
}

bool add_sample(std::map<int, ReadPe>& pes, const Sample& sample) {
  const CounterRow* const row = row_of(sample.name);
  const bool is_start = sample.name == kStartTime;
  const bool is_broken = sample.name == kBroken;
  if (row == nullptr && !is_start && !is_broken && sample.name != kSampleTime) return true;
  const auto rank = label<int>(sample, "pe");
  if (!rank || *rank < 0) return false;
  ReadPe& pe = pes[*rank];
  pe.counters.pe = *rank;
  if (row != nullptr) return add_count(pe, *row, sample);
  if (is_broken) return add_broken(pe, sample);
  return add_time(is_start ? pe.counters.started_ms : pe.counters.sampled_ms, sample);
}

}  // namespace

Result<std::vector<PeCounters>> parse_counters(std::string_view text, const std::string& name) {
  std::map<int, ReadPe> pes;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const std::string_view line = take_until(text, "\n");
    take(text, '\n');
    if (line.empty() || line.starts_with('#')) continue;
    const std::optional<Sample> sample = parse_sample(line);
    if (sample && add_sample(pes, *sample)) continue;
    return Error(Code::invalid_argument,
                 name + ":" + std::to_string(line_number) +
                     ": this is not a line of gdakit's counters: " + std::string(line));
  }
  std::vector<PeCounters> all;
  for (auto& [rank, pe] : pes) {
    if (!pe.has_counts) pe.counters.counts = Counts::nothing;
    all.push_back(std::move(pe.counters));
  }
  return all;
}

namespace {

// "pe12.prom": others may lie beside it.
bool is_of_a_pe(std::string_view file) {
  constexpr std::string_view kBegin = "pe", kEnd = ".prom";
  if (file.size() <= kBegin.size() + kEnd.size() || !file.starts_with(kBegin) ||
      !file.ends_with(kEnd)) {
    return false;
  }
  file.remove_prefix(kBegin.size());
  file.remove_suffix(kEnd.size());
  return file.find_first_not_of("0123456789") == std::string_view::npos;
}

void add_file(CounterFiles& files, const std::string& path) {
  const Result<std::string> text = read_file(path, "the counters");
  if (!text && text.error().code() == Code::not_found) return;  // gone by now
  const auto pes = text ? parse_counters(*text, path) : text.error();
  if (!pes) {
    files.unread.push_back({path, pes.error()});
    return;
  }
  files.pes.insert(files.pes.end(), pes->begin(), pes->end());
}

}  // namespace

Result<CounterFiles> read_counter_files(const std::string& directory) {
  std::error_code error;
  CounterFiles files;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string file = entry->path().filename();
    if (is_of_a_pe(file)) add_file(files, entry->path());
  }
  if (error) {
    return Error::from_errno("cannot read the directory \"" + directory + "\"", error.value());
  }
  std::ranges::sort(files.pes, {}, &PeCounters::pe);
  return files;
}

Result<std::vector<PeCounters>> read_counters(const std::string& directory) {
  Result<CounterFiles> files = read_counter_files(directory);
  if (!files) return files.error();
  if (!files->unread.empty()) return files->unread.front().error;
  return std::move(files->pes);
}

}  // namespace gdakit::tools
