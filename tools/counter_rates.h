// What a PE has counted between two of its files.
#pragma once

#include "core/host/pe_counters.h"

namespace gdakit::tools {

struct CounterRates {
  double seconds = 0;  // between the two
  PeCounters counted;  // in that time
};

// `before` may be another job's: a PE that has begun anew since then, and a counter that says less
// than before, have counted from 0 on.
CounterRates rates_between(const PeCounters& before, const PeCounters& now);

}  // namespace gdakit::tools
