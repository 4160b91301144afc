// Set-up: what a world can be made of. A world that cannot be is not an aborted test but a finding
// of kind setup, whose text names what was asked for and what to ask for instead.
#pragma once

#include <cstdint>
#include <string>

#include "device/machine.h"
#include "sim/world/world.h"

namespace gdakit::sim::setup {

// Each is empty, or a sentence: what cannot be, and what can.
std::string problem_of(const WorldOptions& options);
// `agents`: of the world so far, the host and the NICs included.
std::string problem_of_launch(const WorldOptions& options, std::uint32_t pe,
                              const LaunchShape& shape, std::uint64_t agents);
// The heap has room for `missing` bytes less than what is to be allocated.
std::string problem_of_heap(const WorldOptions& options, const std::string& name,
                            std::uint64_t bytes, std::uint64_t missing);
// A hang: `lanes` of a warp wait for fetch slots that they hold themselves.
std::string problem_of_fetch_slots(const WorldOptions& options, std::uint32_t lanes);

// What the memory of all PEs may come to.
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 20;

// Agents that are no threads of kernels.
std::uint64_t own_agents(const WorldOptions& options);

}  // namespace gdakit::sim::setup
