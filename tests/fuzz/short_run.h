// A target's short run.
#pragma once

#include "tests/fuzz/target.h"

namespace gdakit::fuzz {

// Plays every seed, and then mutants of them for so many rounds. Returns the first thing that was
// wrong, with the bytes that show it; empty: nothing.
std::string run_short(const Target& target, int rounds);

}  // namespace gdakit::fuzz
