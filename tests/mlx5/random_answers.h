// A PE's use of backend mlx5 where libraries and firmware answer at random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace gdakit::mlx5 {

struct RandomRun {
  std::string wrong;  // in sentences; empty: nothing
  // How far it came.
  bool opened = false;
  std::size_t created = 0;
  std::size_t connected = 0;
  std::size_t initiators = 0;  // of DC
  std::size_t addressed = 0;   // targets
};

// Each call of the backend succeeds or says by which call of the libraries it failed, and all that
// was made is given back. `draw` gives a number below its argument.
RandomRun play_random_answers(std::function<std::uint32_t(std::uint32_t)> draw);

}  // namespace gdakit::mlx5
