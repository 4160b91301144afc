// Which of a host's NICs, each of which is a port of a device, a PE takes: what the user's map
// says; else the nearest to its GPU, and of those that are as near the ones that the fewest PEs of
// lower local ranks have taken, first ports before second ones.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "backends/mlx5/device_list.h"
#include "backends/mlx5/devices.h"
#include "core/base/gid_choice.h"
#include "core/base/hca_list.h"

namespace gdakit::mlx5 {

struct NicWish {
  std::size_t count = 1;                      // of NICs (GDAKIT_NICS_PER_PE)
  HcaList list = {};                          // GDAKIT_HCA_LIST
  HcaMap map = {};                            // GDAKIT_HCA_MAP
  GidChoice gid = {};                         // GDAKIT_GID
  std::size_t local_rank = 0;                 // of the PE, among those of its host
  std::string gpu = {};                       // its PCI address; empty: the PE has none
  std::vector<std::string> gpus_before = {};  // those of PEs of its host with lower local ranks
  std::filesystem::path system = "/sys";      // where the GPU is looked for
};

struct ChosenNic {
  ibv_device* device = nullptr;  // of the list
  DeviceReport report;           // usable
  std::string why;               // "behind one PCI bridge with GPU 0000:65:00.0"
};

// As many different NICs as are wished, in the order in which the PE's queues go by them. Errors:
// as judge_devices; fewer NICs can be used (unavailable), with the reason of each that cannot; the
// map gives a PE another number (invalid_argument), or one that is not there (not_found) or cannot
// be used (unavailable).
Result<std::vector<ChosenNic>> choose_nics(const DeviceList& present, const NicWish& wish);

}  // namespace gdakit::mlx5
