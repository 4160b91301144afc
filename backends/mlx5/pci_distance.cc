#include "backends/mlx5/pci_distance.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

namespace gdakit::mlx5 {
namespace {

namespace fs = std::filesystem;

// Where a device's folder leads: .../pci0000:00/0000:00:01.0/0000:01:00.0
std::optional<fs::path> place_of(const fs::path& device) {
  std::error_code absent;
  const fs::path place = fs::canonical(device, absent);
  return absent ? std::nullopt : std::optional(place);
}

int numa_node(const fs::path& place) {
  int node = -1;
  std::ifstream(place / "numa_node") >> node;
  return node;
}

// What the two places have in common: how many host bridges, and how many devices behind them.
struct Common {
  int host_bridges = 0;
  int bridges = 0;
};
Common common_of(const fs::path& one, const fs::path& other) {
  Common common;
  for (auto a = one.begin(), b = other.begin(); a != one.end() && b != other.end() && *a == *b;
       ++a, ++b) {
    if (a->native().starts_with("pci")) {
      ++common.host_bridges;
    } else if (common.host_bridges != 0) {
      ++common.bridges;
    }
  }
  return common;
}

}  // namespace

const char* words_of(Apart apart) {
  switch (apart) {
    case Apart::bridge: return "behind one PCI bridge with";
    case Apart::host_bridge: return "behind one host bridge with";
    case Apart::numa_node: return "of one NUMA node with";
    case Apart::host: return "of another NUMA node than";
    case Apart::unknown: break;
  }
  return "at an unknown distance from";
}

Distance distance_between(const fs::path& nic, std::string gpu, const fs::path& system) {
  std::ranges::transform(gpu, gpu.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto nic_place = place_of(nic);
  const auto gpu_place = place_of(system / "bus/pci/devices" / gpu);
  if (gpu.empty() || !nic_place || !gpu_place) return {};
  const Common common = common_of(*nic_place, *gpu_place);
  if (common.bridges != 0) return {Apart::bridge, -common.bridges};
  if (common.host_bridges != 0) return {Apart::host_bridge};
  const int node = numa_node(*nic_place), gpu_node = numa_node(*gpu_place);
  if (node < 0 || gpu_node < 0) return {};
  return {node == gpu_node ? Apart::numa_node : Apart::host};
}

}  // namespace gdakit::mlx5
