// The page docs/mutants.md: its text when this library was built, and the cells that name a mutant.
#pragma once

#include <string>
#include <string_view>

#include "sim/world/mutants/mutants.h"

namespace gdakit::sim::mutants {

extern const std::string_view kPage;

// "| `device/ring.h` fence **WqeBeforeDoorbellRecord** #1 | remove", of a mutant of one mutation.
std::string page_cells(const MutantResult& mutant);

}  // namespace gdakit::sim::mutants
