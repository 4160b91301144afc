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

struct ProgramSize {
  std::uint32_t threads = 2;
  std::uint32_t operations = 5;  // of each thread
};

// Test number `index` of a seed, of exactly this size, on 2 or 3 locations and 2 GPUs. There are
// fences that only acquire or only release, too, and in a quarter of the programs every thread
// comes to one bar.cta.sync.
Program random_program(std::uint64_t seed, std::uint64_t index, const ProgramSize& size);

}  // namespace gdakit::sim::litmus
