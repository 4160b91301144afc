// How far a NIC is from a GPU, by their places in the host's tree of PCI devices.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>

namespace gdakit::mlx5 {

// From the nearest on.
enum class Apart : std::uint8_t {
  bridge,       // behind one PCI bridge: what passes between them need not come to the processor
  host_bridge,  // behind one host bridge
  numa_node,    // of one NUMA node
  host,         // of two NUMA nodes
  unknown,      // the host does not say
};

struct Distance {
  Apart apart = Apart::unknown;
  int bridges = 0;  // those that they have in common, counted downwards from 0

  auto operator<=>(const Distance&) const = default;
};
// In words, as "behind one PCI bridge with".
const char* words_of(Apart apart);

// `nic` is the NIC's folder in sysfs, `gpu` the GPU's PCI address, 0000:65:00.0. `system` stands in
// for /sys in tests.
Distance distance_between(const std::filesystem::path& nic, std::string gpu,
                          const std::filesystem::path& system = "/sys");

}  // namespace gdakit::mlx5
