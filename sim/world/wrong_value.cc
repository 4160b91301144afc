#include "sim/world/wrong_value.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/hex.h"
#include "sim/explore/text.h"

namespace gdakit::sim {
namespace {

using Index = std::uint32_t;

std::string value_of(const Event& event) { return hex_number(event.value); }

std::string number_of(Index index) { return "#" + std::to_string(index); }

bool writes(const Event& event) {
  return event.kind == EventKind::store || event.kind == EventKind::rmw ||
         event.kind == EventKind::dma_write;
}

bool reads(const Event& event) {
  return event.reads_from != kReadNothing && event.kind != EventKind::check;
}

class Explanation {
 public:
  Explanation(const weak::Memory& memory, Trace& trace) : memory_(memory), trace_(trace) {}

  void explain(std::size_t check) {
    const std::int32_t stored = trace_.events[check].reads_from;
    if (stored < 0) return;
    const Event& store = event(static_cast<Index>(stored));
    std::set<std::string_view> looked_at;  // of a wait loop, only the last turn matters
    for (Index i = static_cast<Index>(stored); i-- > 0;) {
      const Event& read = event(i);
      if (read.lane != store.lane || !reads(read) || !read.of_user) continue;
      if (!looked_at.insert(read.where).second) continue;
      if (find_unordered(i) || find_overwritten(i)) return;
    }
  }

 private:
  const Event& event(Index index) const { return trace_.events[index]; }
  std::string lane_of(Index index) const { return trace_.lanes[event(index).lane].name; }

  bool is_rival(Index index, const Event& read) const {
    return writes(event(index)) && event(index).where == read.where &&
           event(index).lane != read.lane;
  }

  // A later write that does not know of the read.
  bool find_unordered(Index read) {
    for (Index i = read + 1; i < trace_.events.size(); ++i) {
      if (!is_rival(i, event(read)) || memory_.traced_before(read, i)) continue;
      add(read, i,
          lane_of(i) + " writes " + value_of(event(i)) + " to " + event(i).where + sender_of(i) +
              " without knowing that " + lane_of(read) + " has read " + value_of(event(read)) +
              " there: " + memory_.why_not_before(read, i));
      return true;
    }
    return false;
  }

  // The write that the read returned had replaced another value, which nobody has read.
  bool find_overwritten(Index read) {
    const std::int32_t from = event(read).reads_from;
    if (from < 0 || event(static_cast<Index>(from)).lane == event(read).lane) return false;
    const auto later = static_cast<Index>(from);
    for (Index i = later; i-- > 0;) {
      if (!is_rival(i, event(read))) continue;
      if (event(i).value == event(later).value || was_read(i)) return false;
      add(later, read,
          lane_of(read) + " has never seen " + value_of(event(i)) + " in " + event(read).where +
              ", which " + number_of(i) + " wrote: " + lane_of(later) + " overwrote it with " +
              value_of(event(later)) + sender_of(later) +
              ", and nothing made that wait until it was read");
      return true;
    }
    return false;
  }

  bool was_read(Index write) const {
    return std::any_of(trace_.events.begin(), trace_.events.end(), [&](const Event& other) {
      return other.reads_from == static_cast<std::int32_t>(write) && reads(other) &&
             other.lane != event(write).lane;
    });
  }

  // Which call has sent what a NIC wrote: " for put of halo.cc:12".
  std::string sender_of(Index write) const {
    if (event(write).kind != EventKind::dma_write) return "";
    for (Index i = write; i-- > 0;) {
      const Event& call = event(i);
      if (call.kind != EventKind::call || call.where != event(write).where) continue;
      return " for " + call.what.substr(0, call.what.find(' ')) + " at " +
             std::string(without_directories(call.file)) + ":" + std::to_string(call.line);
    }
    return "";
  }

  void add(Index from, Index to, std::string sentence) {
    trace_.missing.push_back({from, to, std::move(sentence) + "."});
  }

  const weak::Memory& memory_;
  Trace& trace_;
};

}  // namespace

std::int32_t writer_of(const Trace& trace, const std::string& where, std::uint64_t value) {
  for (std::size_t i = trace.events.size(); i-- > 0;) {
    const Event& event = trace.events[i];
    if (writes(event) && event.where == where && event.value == value) {
      return static_cast<std::int32_t>(i);
    }
  }
  return kReadInitial;
}

void explain_wrong_value(const weak::Memory& memory, std::size_t check, Trace& trace) {
  Explanation(memory, trace).explain(check);
}

}  // namespace gdakit::sim
