// A NIC as a device of PCI, and the root port above it, as files in /sys.
//
//   devices/pci0000:00/0000:00:01.0              the root port
//   devices/pci0000:00/0000:00:01.0/0000:01:00.0 the NIC
#pragma once

#include <filesystem>

#include "backends/softnic/uverbs/spec.h"
#include "backends/softnic/uverbs/sysfs_tree.h"

namespace gdakit::softnic::uverbs {

// Where the files of the NIC's device lie, from the folder on.
std::filesystem::path pci_folder(const Identity& identity);

// All of them, those of the root port, and the driver's.
void write_pci(SysfsTree& tree, const Identity& identity);

}  // namespace gdakit::softnic::uverbs
