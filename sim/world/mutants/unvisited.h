// Sites of the protocol's source that no scenario comes past: nobody would notice what goes wrong
// there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/world/sites.h"

namespace gdakit::sim::mutants {

// A call of the Machine in a source file, from the line of its name to that of its closing bracket.
struct MachineCall {
  std::uint32_t first_line = 0;
  std::uint32_t last_line = 0;
  std::string text;  // its first line, without the blanks before it
};
// Those that are sites (SiteOp), in the order of the text.
std::vector<MachineCall> machine_calls(const std::string& text);

// "device/ring.h:30: m.fence(...) is passed by no scenario", for every call in device/*.h and
// device/collective/*.h under `root` that none of the `visited` sites stands in. The files must be
// there.
std::vector<std::string> unvisited_sites(const std::filesystem::path& root,
                                         const std::vector<OrderSite>& visited);

}  // namespace gdakit::sim::mutants
