// Which mutants there are: the operators that make sense at each site.
#pragma once

#include <vector>

#include "sim/world/mutants/mutants.h"

namespace gdakit::sim::mutants {

// `sites`: in order, each once.
std::vector<MutantResult> first_order(const std::vector<OrderSite>& sites);
// Orders that can be left out one at a time may still be needed together.
std::vector<MutantResult> pairs_of(const std::vector<MutantResult>& survivors);

}  // namespace gdakit::sim::mutants
