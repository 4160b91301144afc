// write_page: a run as one HTML file, for a browser.
//
// The file needs nothing else: no network, no fonts, no second file; it may be mailed, or kept with
// a build's logs. It shows the finding on top, a column for each lane, a row for each event in
// order of time, the missing order in red between its ends, and all that is known of the selected
// event beside it. '?' in the page tells its keys.
#pragma once

#include <ostream>

#include "sim/choice/trace.h"

namespace gdakit::sim {

// Every index in the trace must name one of its lanes or events. Text may hold any characters; it
// is UTF-8, and bytes that are not become U+FFFD. What went wrong in writing is in the stream's
// state.
void write_page(const Trace& trace, std::ostream& to);

}  // namespace gdakit::sim
