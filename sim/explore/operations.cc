#include "sim/explore/operations.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/explore/text.h"

namespace gdakit::sim {
namespace {

// What the events of one operation of a NIC, or of gdakit in a call that nobody noted, have in
// common; "" for an event that stands for itself.
std::string activity_of(const Event& event) {
  switch (event.kind) {
    case EventKind::dma_read: return "reads " + event.part;
    case EventKind::dma_write: return "writes " + event.part;
    case EventKind::packet: return "packet";
    case EventKind::load:
    case EventKind::store:
    case EventKind::rmw:
    case EventKind::fence:
    case EventKind::mmio_store: return event.of_user || event.line == 0 ? "" : "own";
    default: return "";
  }
}

// "PE 1 data" of "PE 1 data +0x8".
std::string object_of(const std::string& where) { return where.substr(0, where.rfind(" +")); }

std::string counted(std::size_t count, const std::string& one, const std::string& more) {
  return std::to_string(count) + " " + (count == 1 ? one : more);
}

class Words {
 public:
  Words(const Trace& trace, const Operation& operation)
      : trace_(trace), events_(operation.events) {}

  std::string text() const {
    const std::string activity = activity_of(first());
    if (activity == "own") return counted(events_.size(), "step", "steps") + " of gdakit's own";
    if (activity == "packet") return packet();
    if (activity == "reads WQE") return "fetches " + counted(objects(), "WQE", "WQEs");
    if (activity == "reads doorbell record") return "looks at the doorbell record";
    if (activity == "writes CQE") return "writes a CQE";
    const bool reads = first().kind == EventKind::dma_read;
    return (reads ? "reads " : "writes ") + counted(bytes(), "byte", "bytes") +
           (reads ? " of " : " to ") + object_of(first().where);
  }

 private:
  const Event& first() const { return trace_.events[events_.front()]; }

  std::size_t objects() const {
    std::set<std::string> different;
    for (const std::uint32_t index : events_)
      different.insert(object_of(trace_.events[index].where));
    return different.size();
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const std::uint32_t index : events_) sum += trace_.events[index].bytes;
    return sum;
  }
  std::string packet() const {
    const std::string& what = first().what;
    const std::size_t kind = what.find(" packet is sent");
    if (kind == what.npos) return "receives a packet";
    return "sends " + what.substr(0, kind) + (what.ends_with("lost") ? ", which is lost" : "");
  }

  const Trace& trace_;
  const std::vector<std::uint32_t>& events_;
};

class Grouping {
 public:
  explicit Grouping(const Trace& trace) : trace_(trace) {}

  std::vector<Operation> run() {
    for (std::uint32_t i = 0; i < trace_.events.size(); ++i) {
      const Event& event = trace_.events[i];
      if (event.kind == EventKind::call) {
        calls_[i] = operations_.size();
        operations_.push_back({event.what, {i}});
      } else if (const auto call = calls_.find(static_cast<std::uint32_t>(event.call));
                 event.call != kNoCall && call != calls_.end()) {
        operations_[call->second].events.push_back(i);
      } else {
        add_alone(i);
      }
    }
    finish();
    return std::move(operations_);
  }

 private:
  // To what its lane is doing, if it goes on with that.
  void add_alone(std::uint32_t index) {
    const Event& event = trace_.events[index];
    std::string activity = activity_of(event);
    if (!activity.empty() && event.part == "data") activity += object_of(event.where);
    Begun& begun = begun_[event.lane];
    const bool arrives = event.what == "packet arrives";
    if (activity.empty()) {
      begun = {};
    } else if (activity == begun.activity && !arrives) {
      operations_[begun.operation].events.push_back(index);
    } else {
      begun = {activity, operations_.size()};
      operations_.push_back({"", {index}});
    }
  }

  void finish() {
    const std::vector<bool> repeats = repeated_polls(trace_);
    for (Operation& operation : operations_) {
      const Event& first = trace_.events[operation.events.front()];
      if (first.kind == EventKind::call) continue;
      operation.what = Words(trace_, operation).text();
      const bool is_work = operation.what.starts_with("fetches ") || first.part == "data";
      operation.is_dull =
          !is_work || std::all_of(operation.events.begin(), operation.events.end(),
                                  [&](std::uint32_t index) { return repeats[index]; });
    }
  }

  struct Begun {
    std::string activity;
    std::size_t operation = 0;
  };

  const Trace& trace_;
  std::vector<Operation> operations_;
  std::map<std::uint32_t, std::size_t> calls_;  // by their events
  std::map<std::uint32_t, Begun> begun_;        // by lane
};

}  // namespace

std::vector<Operation> operations_of(const Trace& trace) {
  const bool any_of_user = std::any_of(trace.events.begin(), trace.events.end(),
                                       [](const Event& event) { return event.of_user; });
  return any_of_user ? Grouping(trace).run() : std::vector<Operation>();
}

std::uint32_t start_event(const Trace& trace) {
  if (!trace.missing.empty()) return trace.missing.front().to;
  const auto last = [&](auto&& matters) -> std::int64_t {
    for (std::size_t i = trace.events.size(); i-- > 0;) {
      if (matters(trace.events[i])) return static_cast<std::int64_t>(i);
    }
    return -1;
  };
  std::int64_t found = last([](const Event& event) { return event.stale_by != 0; });
  if (found < 0) {
    found = last([](const Event& event) {
      return event.of_user && event.line != 0 && event.kind != EventKind::check;
    });
  }
  return static_cast<std::uint32_t>(std::max<std::int64_t>(found, 0));
}

}  // namespace gdakit::sim
