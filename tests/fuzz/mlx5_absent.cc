#include "tests/fuzz/mlx5_targets.h"

namespace gdakit::fuzz {

std::span<const Target> mlx5_targets() { return {}; }

}  // namespace gdakit::fuzz
