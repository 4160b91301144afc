#include "sim/world/mutants/last_page.h"

#include <map>
#include <sstream>
#include <string_view>

#include "sim/world/mutants/page_text.h"

namespace gdakit::sim::mutants {
namespace {

// Scenarios by the two cells that name a mutant, as markdown.cc writes them.
std::map<std::string, std::string> read_page() {
  std::map<std::string, std::string> killers;
  std::istringstream page{std::string(kPage)};
  std::string line;
  while (std::getline(page, line)) {
    if (!line.starts_with("| `device/")) continue;
    const std::size_t place = line.find(" | ");
    const std::size_t op = line.find(" | ", place + 3);
    const std::size_t killer = line.find(" | ", op + 3);
    if (killer == line.npos) continue;
    const std::string name = line.substr(op + 3, killer - op - 3);
    if (!name.starts_with('*')) killers[line.substr(0, op)] = name;
  }
  return killers;
}

}  // namespace

std::string last_killer(const MutantResult& mutant) {
  static const std::map<std::string, std::string> kKillers = read_page();
  if (mutant.mutations.size() != 1) return "";
  const auto found = kKillers.find(page_cells(mutant));
  return found == kKillers.end() ? "" : found->second;
}

}  // namespace gdakit::sim::mutants
