// What a NIC has of DC, by its firmware.
#pragma once

#include <cstdint>
#include <string>

#include "backends/mlx5/libraries.h"

namespace gdakit::mlx5 {

struct DcAbility {
  std::string lacks;           // in a sentence; empty: nothing
  std::uint8_t log_reads = 0;  // READs and atomics that an initiator may have under way, 2^n
};

// `most_log_reads`: of queue pairs, of which an initiator has no more.
DcAbility query_dc(const Libraries& libraries, ibv_context* context, std::uint8_t most_log_reads);

}  // namespace gdakit::mlx5
