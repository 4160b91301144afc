// Generator of random litmus tests: small, and full of what the memory model is about.
#pragma once

#include <cstdint>
#include <string>

#include "sim/litmus/program.h"

namespace gdakit::sim::litmus {

// Test number `index` of a seed: 2 threads of up to 4 instructions, or 3 of up to 3, on 2 locations
// and 2 GPUs, with all scopes, orders, fences and kinds of access. What every register and location
// ends with is observed. The text of the program parses back to it.
Program random_program(std::uint64_t seed, std::uint64_t index);

}  // namespace gdakit::sim::litmus
