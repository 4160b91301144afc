// Calls of a client of the kernel's stand-in (backends/softnic/uverbs).
#pragma once

#include "tests/fuzz/target.h"

namespace gdakit::fuzz {

// Calls one after the other, by tests/uverbs/hostile_calls.h. Answers are errno values, and a
// device whose client has gone has none of its queue pairs.
std::string play_verbs_calls(Input input);

}  // namespace gdakit::fuzz
