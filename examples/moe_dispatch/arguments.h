// The command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "device/machine.h"
#include "examples/moe_dispatch/shape.h"

namespace moe {

inline constexpr std::uint32_t kBlocksOnEmulator = 8;
inline constexpr std::uint32_t kBlocksOnGpu = 16;

struct Arguments {
  std::string text = "/usr/share/common-licenses/GPL-3";
  std::uint64_t tokens = 0;  // 0: all words of the text
  std::uint32_t hidden = 7168;
  std::uint32_t experts = 32;
  std::uint32_t top_k = 8;
  std::uint32_t batch = 128;
  gdakit::LaunchShape launch{.blocks = 0, .threads = 256};  // 0 blocks: what the device likes
  std::optional<int> pes;                                   // run as threads of this process

  std::string help;  // what to print in place of running
};

// The error's sentence names the option, its value and what is allowed.
gdakit::Result<Arguments> parse_arguments(int argc, const char* const* argv);

// Whether the arguments go with a job of `pes` PEs, and the sizes that follow.
gdakit::Result<Shape> make_shape(const Arguments& arguments, int pes);

}  // namespace moe
