#include "tests/fuzz/timelines.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "core/host/trace/trace_record.h"
#include "tools/timeline_pe.h"

namespace gdakit::fuzz {
namespace {

constexpr std::size_t kMostRecords = 256;

void append(Seed& seed, TraceKind kind, std::uint64_t time_ns, std::uint64_t index,
            std::uint32_t detail = 0) {
  TraceRecord record;
  record.kind = kind;
  record.queue = 7;
  record.time_ns = time_ns;
  record.index = index;
  record.value = kind == TraceKind::cqe ? time_ns - 10 : 1;
  record.of.detail = detail;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&record);
  seed.insert(seed.end(), bytes, bytes + sizeof record);
}

}  // namespace

std::string play_timeline(Input input) {
  std::ostringstream out;
  tools::TimelineEvents events(out, 0);
  tools::TimelinePe pe(events, 0, 0);
  const std::size_t count = std::min(input.size() / sizeof(TraceRecord), kMostRecords);
  for (std::size_t i = 0; i < count; ++i) {
    TraceRecord record;
    std::memcpy(static_cast<void*>(&record), &input[i * sizeof record], sizeof record);
    if (record.kind < TraceKind::count) pe.add(record);
  }
  pe.end();
  events.end([](JsonWriter&) {});
  const std::string text = out.str();
  const auto lines = static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
  // Before the events a line begins the file, and behind them five end it.
  if (lines != events.count() + 5) return "events are not a line each";
  return text.find("\"dur\":-") == std::string::npos ? "" : "a span that ends before it begins";
}

std::vector<Seed> timeline_seeds() {
  Seed wqe, kernel;
  append(wqe, TraceKind::queue_name, 1, 0);
  append(wqe, TraceKind::doorbell, 100, 1);
  append(wqe, TraceKind::fetch, 110, 0);
  append(wqe, TraceKind::wqe_begin, 120, 0);
  append(wqe, TraceKind::wqe_begin, 125, 1);
  append(wqe, TraceKind::packet_out, 130, 0);
  append(wqe, TraceKind::packet_in, 190, 0);
  append(wqe, TraceKind::wqe_end, 195, 0);
  append(wqe, TraceKind::cqe, 210, 1);
  append(wqe, TraceKind::wqe_end, 215, 1, static_cast<std::uint32_t>(TraceEnd::told));
  append(wqe, TraceKind::cqe_lost, 217, 2);
  append(wqe, TraceKind::wqe_end, 218, 2, static_cast<std::uint32_t>(TraceEnd::flushed));
  append(wqe, TraceKind::lost, 220, 0);
  append(kernel, TraceKind::kernel_begin, 100, 2);
  append(kernel, TraceKind::block_begin, 110, 1);
  append(kernel, TraceKind::block_end, 120, 1);
  append(kernel, TraceKind::kernel_end, 130, 0);
  return {wqe, kernel};
}

}  // namespace gdakit::fuzz
