// A ConnectX by libraries that are played (tests/mlx5/played.h). Where there are no headers of
// rdma-core there are none of these targets.
#pragma once

#include <span>

#include "tests/fuzz/target.h"

namespace gdakit::fuzz {

// Connection cards of two queues and of a target of DC, changed as the input says. One of a queue
// that is taken leads to commands; all that was made is given back.
std::string play_mlx5_cards(Input input);

// One PE's use of backend mlx5, where libraries and firmware answer as the input says
// (tests/mlx5/random_answers.h).
std::string play_mlx5_answers(Input input);

std::span<const Target> mlx5_targets();

}  // namespace gdakit::fuzz
