#include "sim/explore/page_data.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/assert.h"
#include "core/base/json.h"
#include "sim/explore/operations.h"
#include "sim/explore/text.h"

namespace gdakit::sim::page {
namespace {

std::string_view name_of(EventKind kind) {
  switch (kind) {
    case EventKind::load: return "load";
    case EventKind::store: return "store";
    case EventKind::rmw: return "rmw";
    case EventKind::fence: return "fence";
    case EventKind::barrier: return "barrier";
    case EventKind::mmio_store: return "mmio_store";
    case EventKind::doorbell: return "doorbell";
    case EventKind::dma_read: return "dma_read";
    case EventKind::dma_write: return "dma_write";
    case EventKind::packet: return "packet";
    case EventKind::wait: return "wait";
    case EventKind::call: return "call";
    case EventKind::check: return "check";
    case EventKind::note: break;
  }
  return "note";
}

// Text, because a number of JavaScript is exact up to 53 bits only. All digits of its width.
std::string hexadecimal(std::uint64_t value, std::uint32_t bytes) {
  const std::size_t digits = 2 * std::clamp<std::size_t>(bytes, 1, 8);
  std::string text;
  for (; text.size() < digits || value != 0; value >>= 4) {
    text.insert(text.begin(), "0123456789abcdef"[value & 15]);
  }
  return "0x" + text;
}

void write_text(JsonWriter& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json.member(name, text);
}

// Fields that say nothing are left out: a run has hundreds of events.
void write_event(const Event& event, bool repeats, JsonWriter& json) {
  json.begin_object();
  json.member("lane", event.lane);
  json.member("kind", name_of(event.kind));
  json.member("what", event.what);
  write_text(json, "where", event.where);
  write_text(json, "order", event.order);
  write_text(json, "file", event.file);
  if (event.line != 0) json.member("line", event.line);
  if (event.bytes != 0) {
    json.member("bytes", event.bytes);
    json.member("value", hexadecimal(event.value, event.bytes));
    if (event.kind == EventKind::rmw) json.member("old", hexadecimal(event.old_value, event.bytes));
  }
  if (event.reads_from != kReadNothing) json.member("readsFrom", event.reads_from);
  if (event.stale_by != 0) json.member("staleBy", event.stale_by);
  if (event.of_user) json.member("user", true);
  if (repeats) json.member("repeats", true);
  if (!event.follows.empty()) {
    json.key("follows");
    json.begin_array();
    for (const std::uint32_t release : event.follows) json.value(release);
    json.end();
  }
  json.end();
}

void check_references(const Trace& trace) {
  const std::size_t count = trace.events.size();
  for (const Event& event : trace.events) {
    GDAKIT_ASSERT(event.lane < trace.lanes.size());
    GDAKIT_ASSERT(event.reads_from >= kReadNothing);
    GDAKIT_ASSERT(event.reads_from < 0 || static_cast<std::size_t>(event.reads_from) < count);
    for (const std::uint32_t release : event.follows) GDAKIT_ASSERT(release < count);
  }
  for (const MissingEdge& edge : trace.missing) GDAKIT_ASSERT(edge.from < count && edge.to < count);
}

void write_operations(const Trace& trace, JsonWriter& json) {
  json.key("operations");
  json.begin_array();
  for (const Operation& operation : operations_of(trace)) {
    json.begin_object();
    json.member("what", operation.what);
    if (operation.is_dull) json.member("dull", true);
    json.key("events");
    json.begin_array();
    for (const std::uint32_t index : operation.events) json.value(index);
    json.end();
    json.end();
  }
  json.end();
}

void write_lists(const Trace& trace, JsonWriter& json) {
  json.key("knobs");
  json.begin_array();
  for (const std::string& knob : trace.knobs) json.value(knob);
  json.end();
  json.key("lanes");
  json.begin_array();
  for (const Lane& lane : trace.lanes) {
    json.begin_object();
    json.member("name", lane.name);
    write_text(json, "group", lane.group);
    json.end();
  }
  json.end();
  json.key("events");
  json.begin_array();
  const std::vector<bool> repeats = repeated_polls(trace);
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    write_event(trace.events[i], repeats[i], json);
  }
  json.end();
  json.key("missing");
  json.begin_array();
  for (const MissingEdge& edge : trace.missing) {
    json.begin_object();
    json.member("from", edge.from);
    json.member("to", edge.to);
    json.member("sentence", edge.sentence);
    if (says_verdict(trace, edge)) json.member("isVerdict", true);
    json.end();
  }
  json.end();
}

}  // namespace

void write_data(const Trace& trace, std::ostream& to) {
  check_references(trace);
  JsonWriter json(to, 0);
  json.begin_object();
  json.member("scenario", trace.scenario);
  json.member("verdict", trace.verdict);
  json.member("replay", trace.replay);
  json.member("deviations", trace.deviations);
  json.member("start", start_event(trace));
  write_lists(trace, json);
  write_operations(trace, json);
  json.end();
}

}  // namespace gdakit::sim::page
