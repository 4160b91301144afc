// Calls of a client of the kernel's stand-in (backends/softnic/uverbs).
#pragma once

#include "tests/fuzz/target.h"

namespace gdakit::fuzz {

// Calls one after the other, by tests/uverbs/hostile_calls.h. The input is numbers of 16 bits: one
// says which of two clients of a device makes the next call, those behind it which call and with
// what, for as long as there are some. Answers are errno values, and a device whose clients have
// gone has none of their queue pairs.
std::string play_verbs_calls(Input input);

}  // namespace gdakit::fuzz
