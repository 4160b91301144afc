// Which atomic operations a NIC has, by its firmware.
#pragma once

#include <cstdint>

#include "backends/mlx5/libraries.h"
#include "core/base/result.h"

namespace gdakit::mlx5 {

struct Atomics {
  std::uint32_t operations = 0;  // bits: compare-and-swap, fetch-and-add, both of them masked
  std::uint32_t sizes = 0;       // of queue pairs: the sum of the bytes of those that there are
  std::uint32_t dc_sizes = 0;    // likewise, of DC
  bool swaps_fetched = false;    // what it fetches of 8 bytes comes back big-endian
};

// Errors: of the command QUERY_HCA_CAP, with what the firmware answered.
Result<Atomics> query_atomics(const Libraries& libraries, ibv_context* context);

}  // namespace gdakit::mlx5
