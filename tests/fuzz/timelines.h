// What PEs have written for a timeline.
#pragma once

#include "tests/fuzz/target.h"

namespace gdakit::fuzz {

// The records of a PE's part. What the timeline makes of them is as many lines as it counts, whose
// spans do not end before they begin.
std::string play_timeline(Input input);
std::vector<Seed> timeline_seeds();

}  // namespace gdakit::fuzz
