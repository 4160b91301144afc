// Summary: what exploring a litmus test showed, and what that says about its condition.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/choice/choice.h"
#include "sim/litmus/runner.h"

namespace gdakit::sim::litmus {

struct Summary {
  std::map<Outcome, std::uint64_t> outcomes;  // those that the filter lets through
  std::uint64_t executions = 0;               // all, the following included
  std::uint64_t redundant = 0;
  std::uint64_t blocked = 0;
  std::uint64_t beyond_bound = 0;
  std::uint64_t filtered = 0;
  // Executions that showed the witness: the condition of exists and ~exists, its negation for
  // forall.
  std::uint64_t witnesses = 0;
  std::vector<std::uint32_t> first_witness;  // the picks that replay one of them
  bool complete = false;                     // there is no other outcome (up to the loops' bound)
};

// Whether the outcome is the one that the quantifier is about (Summary::witnesses).
bool is_witness(const Program& program, const Outcome& outcome);

// Runs at most `executions` of what the strategy has to offer, or all of it for 0. The caller says
// whether that was everything (Summary::complete).
Summary explore(Runner& runner, const Program& program, Strategy& strategy,
                std::uint64_t executions);

// Everything, in at most `executions` executions.
Summary explore_all(const Program& program, const RunnerOptions& options, std::uint64_t executions);
// So many at random.
Summary explore_random(const Program& program, const RunnerOptions& options, std::uint64_t seed,
                       std::uint64_t executions);

}  // namespace gdakit::sim::litmus
