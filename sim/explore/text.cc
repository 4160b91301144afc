#include "sim/explore/text.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/hex.h"

namespace gdakit::sim {

std::string_view without_directories(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  return slash == file.npos ? file : file.substr(slash + 1);
}

namespace {

// Columns of the listing; longer texts push the rest aside.
constexpr std::size_t kWhatWidth = 22;

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::size_t lane_width(const Trace& trace) {
  std::size_t width = 0;
  for (const Lane& lane : trace.lanes) width = std::max(width, lane.name.size());
  return std::min<std::size_t>(width, 32);
}

std::string lane_name(const Trace& trace, std::uint32_t lane) {
  return lane < trace.lanes.size() ? trace.lanes[lane].name : "lane " + std::to_string(lane);
}

std::string value_text(const Event& event) {
  if (event.bytes == 0) return "";
  if (event.kind == EventKind::rmw) {
    return " " + hex_number(event.old_value) + " -> " + hex_number(event.value);
  }
  return " = " + hex_number(event.value);
}

std::string read_text(const Event& event) {
  if (event.reads_from == kReadNothing) return "";
  std::string text = event.reads_from == kReadInitial
                         ? "  reads the initial value"
                         : "  reads #" + std::to_string(event.reads_from);
  if (event.stale_by > 0) text += ", stale by " + std::to_string(event.stale_by);
  return text;
}

std::string follows_text(const Event& event) {
  std::string text;
  for (const std::uint32_t release : event.follows) {
    text += (text.empty() ? "  follows #" : ", #") + std::to_string(release);
  }
  return text;
}

std::string site_text(const Event& event) {
  std::string text;
  if (!event.order.empty()) text += "  [" + event.order + "]";
  if (event.line != 0) {
    text += "  " + std::string(without_directories(event.file)) + ":" + std::to_string(event.line);
  }
  return text;
}

void append_gap(std::uint32_t events, std::string& out) {
  if (events == 0) return;
  out += "      ... " + std::to_string(events) + (events == 1 ? " event ...\n" : " events ...\n");
}

// What is missing, each sentence once.
void append_missing(const Trace& trace, std::string& out) {
  std::set<std::string_view> said;
  for (const MissingEdge& edge : trace.missing) {
    if (!said.insert(edge.sentence).second) continue;
    const auto same =
        std::count_if(trace.missing.begin(), trace.missing.end(),
                      [&](const MissingEdge& other) { return other.sentence == edge.sentence; });
    out += "  missing: between #" + std::to_string(edge.from) + " and #" + std::to_string(edge.to);
    if (same > 1) out += " (and " + std::to_string(same - 1) + " more like them)";
    out += says_verdict(trace, edge) ? ", as the first line says\n" : ": " + edge.sentence + "\n";
  }
}

}  // namespace

std::string event_line(const Trace& trace, std::uint32_t index) {
  const Event& event = trace.events.at(index);
  std::string number = std::to_string(index);
  number.insert(0, number.size() < 4 ? 4 - number.size() : 0, ' ');
  std::string line = number + "  " + padded(lane_name(trace, event.lane), lane_width(trace)) + "  ";
  const std::string rest = (event.where.empty() ? "" : event.where) + value_text(event) +
                           read_text(event) + follows_text(event) + site_text(event);
  if (rest.empty()) return line + event.what;
  return line + padded(event.what, kWhatWidth) + "  " + rest.substr(rest.find_first_not_of(' '));
}

bool says_verdict(const Trace& trace, const MissingEdge& edge) {
  return !trace.verdict.empty() &&
         (edge.sentence == trace.verdict || edge.sentence == trace.verdict + ".");
}

std::vector<bool> repeated_polls(const Trace& trace) {
  std::vector<bool> repeats(trace.events.size());
  std::map<std::pair<std::uint32_t, std::string_view>, const Event*> last;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.reads_from == kReadNothing || event.kind == EventKind::check) continue;
    const Event*& before = last[{event.lane, event.where}];
    repeats[i] = before != nullptr && event.kind == before->kind &&
                 before->kind != EventKind::rmw && event.reads_from == before->reads_from &&
                 event.value == before->value;
    before = &event;
  }
  return repeats;
}

namespace {

// The newest thing that the lane of a missing edge's later end has read from the lane of its
// earlier end, between the two: through it the later end got ahead. -1: there is none.
std::int64_t flag_of(const Trace& trace, const MissingEdge& edge) {
  std::int64_t flag = -1;
  for (std::uint32_t i = 0; i < std::min<std::size_t>(edge.to, trace.events.size()); ++i) {
    const Event& read = trace.events[i];
    if (edge.to >= trace.events.size() || read.lane != trace.events[edge.to].lane) continue;
    if (read.reads_from <= static_cast<std::int32_t>(edge.from)) continue;
    const auto store = static_cast<std::size_t>(read.reads_from);
    if (store >= trace.events.size() || edge.from >= trace.events.size()) continue;
    if (trace.events[store].lane == trace.events[edge.from].lane) flag = i;
  }
  return flag;
}

}  // namespace

std::vector<std::uint32_t> relevant_events(const Trace& trace, std::size_t most) {
  const auto count = static_cast<std::uint32_t>(trace.events.size());
  std::set<std::uint32_t> chosen;
  const auto add = [&](std::int64_t index) {
    if (index >= 0 && index < count && chosen.size() < most) {
      chosen.insert(static_cast<std::uint32_t>(index));
    }
  };
  for (const MissingEdge& edge : trace.missing) {
    add(edge.from);
    add(edge.to);
  }
  for (const MissingEdge& edge : trace.missing) {
    const std::int64_t flag = flag_of(trace, edge);
    if (flag < 0) continue;
    add(flag);
    add(trace.events[static_cast<std::size_t>(flag)].reads_from);
  }
  // The latest stale reads first: the earlier they are the less they tell.
  for (std::uint32_t i = count; i-- > 0;) {
    if (trace.events[i].stale_by == 0) continue;
    add(i);
    add(trace.events[i].reads_from);
  }
  const std::vector<bool> repeats = repeated_polls(trace);
  const bool any_of_user = std::any_of(trace.events.begin(), trace.events.end(),
                                       [](const Event& event) { return event.of_user; });
  for (std::uint32_t i = count; i-- > 0;) {
    if (!repeats[i] && (trace.events[i].of_user || !any_of_user)) add(i);
  }
  return {chosen.begin(), chosen.end()};
}

std::string trace_text(const Trace& trace, std::size_t most) {
  std::string out;
  for (const std::string& knob : trace.knobs) out += "  knob: " + knob + "\n";
  const auto count = static_cast<std::uint32_t>(trace.events.size());
  std::vector<std::uint32_t> shown(count);
  std::iota(shown.begin(), shown.end(), 0);
  if (most != 0) shown = relevant_events(trace, most);
  std::uint32_t next = 0;
  for (const std::uint32_t index : shown) {
    append_gap(index - next, out);
    out += event_line(trace, index) + "\n";
    next = index + 1;
  }
  append_gap(count - next, out);
  append_missing(trace, out);
  return out;
}

}  // namespace gdakit::sim
