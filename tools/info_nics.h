// What `gdakit info` says of this host's RDMA NICs: which can be used, and which of them a PE
// takes.
#pragma once

#include <string>
#include <vector>

#include "backends/mlx5/devices.h"
#include "core/base/options.h"
#include "core/host/gpu/gpu.h"

namespace gdakit::tools {

// The PE of that number among those of its host, if its GPU is the one named.
struct PlacedPe {
  std::size_t local_rank = 0;
  std::string gpu;                            // PCI address; empty: it has none
  Result<std::vector<mlx5::PlacedNic>> nics;  // GDAKIT_NICS_PER_PE of them, in order
};

struct NicSection {
  Result<std::vector<mlx5::DeviceReport>> nics;  // or why there is none
  std::vector<PlacedPe> pes;                     // one for each GPU, or one; none without NICs
};

NicSection describe_nics(const Options& options, const std::vector<GpuInfo>& gpus);

void print_nics(const NicSection& section);
// Members of the object that is being written, each with a comma behind it.
void print_nics_json(const NicSection& section);

}  // namespace gdakit::tools
