// Traces as text, for terminals and for the messages of failing tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/choice/trace.h"

namespace gdakit::sim {

// "halo.h" of "tests/users/halo.h".
std::string_view without_directories(std::string_view file);

// One event, without a line break: number, lane, what and how strong, place, value, what it read,
// how stale that was, its order's name, and where in the source it stands.
//   "  12  PE 0 thread 1  load.relaxed.gpu  flag = 0x1  reads #7  [ReadyBeforeRing] ring.h:88"
std::string event_line(const Trace& trace, std::uint32_t index);

// Whether an edge's sentence is the trace's verdict, and need not be said again.
bool says_verdict(const Trace& trace, const MissingEdge& edge);

// By event: whether it reads again what its lane has read there before.
std::vector<bool> repeated_polls(const Trace& trace);

// The events that explain most, ascending, at most `most`: those of the missing edges with what got
// ahead there, stale reads and what they read, and then the last ones of the user's source and
// objects, repeated polls left out. A trace without any such shows the last ones of gdakit's.
std::vector<std::uint32_t> relevant_events(const Trace& trace, std::size_t most);

// Deviating knobs, events, and the sentences of the missing edges. `most` events, the relevant
// ones; gaps are shown as such. 0: all of them.
std::string trace_text(const Trace& trace, std::size_t most = 0);

}  // namespace gdakit::sim
