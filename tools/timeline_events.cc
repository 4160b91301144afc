#include "tools/timeline_events.h"

#include <algorithm>

namespace gdakit::tools {
namespace {

// Above all numbers of processes.
constexpr std::int64_t kFirstTid = 1'000'000;

std::int64_t pid_of(int pe) { return std::int64_t{pe} + 1; }

}  // namespace

TimelineEvents::TimelineEvents(std::ostream& out, std::uint64_t begin_ns)
    : out_(out), begin_ns_(begin_ns) {
  out_ << "{\"traceEvents\":[\n";
}

template <class Write>
void TimelineEvents::add(char phase, const Write& write) {
  if (count_++ != 0) out_ << ',';
  JsonWriter json(out_, 0);
  json.begin_object();
  json.member("ph", std::string_view(&phase, 1));
  write(json);
  json.end();
}

double TimelineEvents::microseconds(std::uint64_t ns) const {
  return static_cast<double>(ns - std::min(ns, begin_ns_)) / 1000;
}

void TimelineEvents::add_process(int pe, const std::string& text) {
  add('M', [&](JsonWriter& json) {
    json.member("name", "process_name");
    json.member("pid", pid_of(pe));
    json.key("args");
    json.begin_object();
    json.member("name", text);
    json.end();
  });
  add('M', [&](JsonWriter& json) {
    json.member("name", "process_sort_index");
    json.member("pid", pid_of(pe));
    json.key("args");
    json.begin_object();
    json.member("sort_index", pe);
    json.end();
  });
}

Lane TimelineEvents::add_lane(int pe, const std::string& text, std::uint64_t order) {
  const Lane lane{pid_of(pe), kFirstTid + lanes_++};
  const auto say = [&](const char* what, const auto& say_value) {
    add('M', [&](JsonWriter& json) {
      json.member("name", what);
      json.member("pid", lane.pid);
      json.member("tid", lane.tid);
      json.key("args");
      json.begin_object();
      say_value(json);
      json.end();
    });
  };
  say("thread_name", [&](JsonWriter& json) { json.member("name", text); });
  say("thread_sort_index", [&](JsonWriter& json) { json.member("sort_index", order); });
  return lane;
}

namespace {

void add_common(JsonWriter& json, Lane lane, std::string_view name, std::string_view category,
                double at_us) {
  json.member("name", name);
  json.member("cat", category);
  json.member("pid", lane.pid);
  json.member("tid", lane.tid);
  json.member("ts", at_us);
}

void add_arguments(JsonWriter& json, const TimelineEvents::Arguments& arguments) {
  if (!arguments) return;
  json.key("args");
  json.begin_object();
  arguments(json);
  json.end();
}

}  // namespace

void TimelineEvents::add_span(Lane lane, const TimelineEvent& event, const Arguments& arguments) {
  add('X', [&](JsonWriter& json) {
    add_common(json, lane, event.name, event.category, microseconds(event.begin_ns));
    const std::uint64_t end_ns = std::max(event.end_ns, event.begin_ns);
    json.member("dur", static_cast<double>(end_ns - event.begin_ns) / 1000);
    add_arguments(json, arguments);
  });
}

void TimelineEvents::add_instant(Lane lane, const TimelineEvent& event,
                                 const Arguments& arguments) {
  add('i', [&](JsonWriter& json) {
    add_common(json, lane, event.name, event.category, microseconds(event.begin_ns));
    json.member("s", "t");  // as high as its lane
    add_arguments(json, arguments);
  });
}

void TimelineEvents::add_arrow(std::string_view name, TimelinePoint from, TimelinePoint to) {
  const std::uint64_t id = ++arrows_;
  add('s', [&](JsonWriter& json) {
    add_common(json, from.lane, name, "arrow", microseconds(from.at_ns));
    json.member("id", id);
  });
  add('f', [&](JsonWriter& json) {
    add_common(json, to.lane, name, "arrow", microseconds(to.at_ns));
    json.member("id", id);
    json.member("bp", "e");  // at the span around it, not at the next one
  });
}

void TimelineEvents::end(const Arguments& about) {
  out_ << "],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":";
  JsonWriter json(out_, 0);
  json.begin_object();
  about(json);
  json.end();
  out_ << "}\n";
}

}  // namespace gdakit::tools
