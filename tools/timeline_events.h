// A timeline in Chrome's trace event format, as Perfetto and chrome://tracing open it.
//
//   TimelineEvents events(out, begin_ns);
//   const Lane lane = events.add_lane(0, "NIC", 1);
//   events.add_span(lane, {"CQE", "nic", from_ns, to_ns}, [](JsonWriter& args) { ... });
//   events.end();
//
//   process ("PE 0")      pid is the PE's number and 1: a pid of 0 means something else
//     lane ("NIC")        tid is like no other of the file
//       span              X: in one lane, spans that overlap lie one in the other
//       instant           i
//     arrow               s and f, of one id: from the span around its begin to the one around its
//                         end
//
// Each event is a line. Events may be added in any order, but an arrow after its two spans.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "core/base/json.h"

namespace gdakit::tools {

struct Lane {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
};

struct TimelineEvent {
  std::string_view name;
  std::string_view category;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  // of a span; one before begin_ns counts as that
};

// A moment in a lane, within a span.
struct TimelinePoint {
  Lane lane;
  std::uint64_t at_ns = 0;
};

class TimelineEvents {
 public:
  using Arguments = std::function<void(JsonWriter&)>;

  // Times of the file count from `begin_ns`.
  TimelineEvents(std::ostream& out, std::uint64_t begin_ns);

  void add_process(int pe, const std::string& name);
  // Lanes of a process lie by their `order`.
  Lane add_lane(int pe, const std::string& name, std::uint64_t order);
  void add_span(Lane lane, const TimelineEvent& event, const Arguments& arguments = {});
  void add_instant(Lane lane, const TimelineEvent& event, const Arguments& arguments = {});
  void add_arrow(std::string_view name, TimelinePoint from, TimelinePoint to);
  // The file's end; `about` writes members of an object about the whole.
  void end(const Arguments& about);

  std::uint64_t count() const { return count_; }

 private:
  template <class Write>
  void add(char phase, const Write& write);
  double microseconds(std::uint64_t ns) const;

  std::ostream& out_;
  std::uint64_t begin_ns_;
  std::uint64_t count_ = 0;
  std::int64_t lanes_ = 0;
  std::uint64_t arrows_ = 0;
};

}  // namespace gdakit::tools
