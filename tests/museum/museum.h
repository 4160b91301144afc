// How an exhibit is shown: the explorer finds the wrong form within the budget, for the stated
// reason, and finds nothing in the right one.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>

#include "sim/choice/subject.h"
#include "tests/museum/mini_protocol.h"

namespace gdakit::museum {

// Executions in which a bug must be found, and those that the shipped protocol must pass.
inline constexpr std::uint64_t kFindWithin = 1000;
inline constexpr std::uint64_t kPass = 2000;

// Allocates and launches.
using Scene = std::function<void(sim::World&)>;

// `kinds`: what the finding may be; with several, schedules decide which of them comes first.
using Kinds = std::initializer_list<sim::FindingKind>;
void expect_found(Kinds kinds, const sim::WorldOptions& options, const Scene& scene);
// The mini protocol without the bug passes as many executions as the bug may take to be found, and
// the shipped protocol passes kPass in the same scene.
void expect_passes(const sim::WorldOptions& options, const Scene& mini, const Scene& shipped);

// The words of the mini protocol, as many as the world has queues.
QueuePlace add_words(sim::World& world);

}  // namespace gdakit::museum
