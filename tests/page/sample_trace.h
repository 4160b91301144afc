// Runs for the tests of the page, made by hand.
#pragma once

#include "sim/choice/trace.h"

namespace gdakit::sim {

// Two threads of PE 0 post to the same slot of a queue, one lap apart. The first has every fence.
// The second lacks the one between its WQE and the doorbell record, and the NIC, which goes by the
// record, fetches the first WQE again. Threads of PE 1 wait for the data meanwhile.
Trace sample_trace();

}  // namespace gdakit::sim
