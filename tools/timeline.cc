#include "tools/timeline.h"

#include <algorithm>
#include <optional>

#include "tools/timeline_events.h"
#include "tools/timeline_pe.h"

namespace gdakit::tools {
namespace {

// The time of day when the host's steady clock was 0, as this part has it.
std::int64_t clock_begin(const TraceHeader& header) {
  return static_cast<std::int64_t>(header.wall_ns) - static_cast<std::int64_t>(header.steady_ns);
}

// What to add to times of the hosts of each part to get those of the first part's host.
class HostClocks {
 public:
  explicit HostClocks(const std::vector<TracePart>& parts) : parts_(parts) {}

  // Parts of one host move together.
  std::int64_t moved_ns(const TracePart& part) const {
    const TraceHeader& reference = parts_.front().header;
    const auto first_there = std::ranges::find_if(
        parts_, [&](const TracePart& other) { return other.header.boot == part.header.boot; });
    if (part.header.boot == reference.boot) return 0;
    return clock_begin(first_there->header) - clock_begin(reference);
  }

  std::uint64_t begin_ns() const {
    std::uint64_t first = ~std::uint64_t{0};
    for (const TracePart& part : parts_) {
      first = std::min(first, part.header.steady_ns + static_cast<std::uint64_t>(moved_ns(part)));
    }
    return first;
  }

  bool are_one() const {
    return std::ranges::all_of(parts_, [&](const TracePart& part) { return moved_ns(part) == 0; });
  }

 private:
  const std::vector<TracePart>& parts_;
};

}  // namespace

TimelineSummary write_timeline(const std::vector<TracePart>& parts, std::ostream& out) {
  const HostClocks clocks(parts);
  TimelineEvents events(out, parts.empty() ? 0 : clocks.begin_ns());
  TimelineSummary summary;
  std::optional<TimelinePe> pe;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_new = i == 0 || parts[i].header.pe != parts[i - 1].header.pe;
    const bool is_last = i + 1 == parts.size() || parts[i].header.pe != parts[i + 1].header.pe;
    if (is_new) pe.emplace(events, parts[i].header.pe, clocks.moved_ns(parts[i]));
    TraceReader reader(parts[i]);
    for (auto record = reader.next(); record && out.good(); record = reader.next()) {
      pe->add(*record);
    }
    if (parts[i].header.ends_early != 0) {
      pe->part_ends_early(parts[i].is_nic);
      ++summary.cut_parts;
    }
    if (!is_last) continue;
    pe->end();
    summary.lost += pe->lost();
  }
  summary.events = events.count();
  events.end([&](JsonWriter& about) {
    about.member("made_by", "gdakit");
    about.member("lost_events", summary.lost);
    about.member("cut_parts", summary.cut_parts);
    about.member("clock", parts.empty() || clocks.are_one()
                              ? "CLOCK_MONOTONIC of one host"
                              : "CLOCK_MONOTONIC of each host, moved by its time of day");
  });
  return summary;
}

}  // namespace gdakit::tools
