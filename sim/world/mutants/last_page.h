// What found a mutant when docs/mutants.md was written last: the scenario that is tried first.
#pragma once

#include <string>

#include "sim/world/mutants/mutants.h"

namespace gdakit::sim::mutants {

// A scenario's name; "" for a survivor, and for a mutant that the page does not know.
std::string last_killer(const MutantResult& mutant);

}  // namespace gdakit::sim::mutants
