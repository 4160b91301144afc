// What a NIC has of DC, by its firmware.
#pragma once

#include <cstdint>
#include <string>

#include "backends/mlx5/open_nic.h"

namespace gdakit::mlx5 {

struct DcAbility {
  std::string lacks;           // in a sentence; empty: nothing
  std::uint8_t log_reads = 0;  // READs and atomics that an initiator may have under way, 2^n
};

DcAbility query_dc(const OpenNic& nic);

}  // namespace gdakit::mlx5
