// PCI devices as /sys shows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/check/tree.h"

namespace gdakit::tools::check {

struct PciFunction {
  std::string address;  // "0000:3b:00.0"
  std::string folder;   // in /sys
};

struct PciDevice {
  PciFunction self;
  std::vector<PciFunction> bridges;  // above it, from the root down
  int numa_node = -1;                // -1: not told
};

// The device behind a path of /sys that leads to its folder; nothing if none does.
std::optional<PciDevice> find_pci_device(const Tree& tree, const std::string& path);

// GPUs of NVIDIA's that this host shows, with a driver or without.
std::vector<PciDevice> nvidia_gpus(const Tree& tree);

// A device's Access Control Services, of which some send traffic between two devices below one
// bridge up to the root. `known` is false where the configuration space cannot be read so far,
// which takes root.
struct AccessControl {
  bool known = false;
  bool redirects = false;
  std::uint16_t control = 0;
};
AccessControl access_control(const Tree& tree, const PciFunction& bridge);

// What a device may ask for, by its PCI Express capability. Nothing where only root may read it.
struct ReadRequests {
  unsigned bytes = 0;  // the longest read
  bool relaxed_ordering = false;
};
std::optional<ReadRequests> read_requests(const Tree& tree, const PciFunction& device);

}  // namespace gdakit::tools::check
