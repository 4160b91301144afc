// Oracle: which outcomes PTX allows, straight from the axioms of its memory model.
//
// It shares the parsed Program with the machine and nothing else: no clocks, no execution order.
// For every combination of control paths it enumerates who reads from whom, the order of the
// fence.sc and the coherence order, and keeps what satisfies the axioms (PTX ISA, chapter "Memory
// Consistency Model", section "Axioms"). fence.sc is also acq_rel; red forms no acquire pattern;
// the coherence order relates two writes only if they are morally strong or one precedes the other
// in causality order.
//
// The cost grows exponentially with the program: it is meant for up to about 12 accesses.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "sim/litmus/program.h"
#include "tests/litmus/axioms.h"

namespace gdakit::sim::litmus {

struct OracleLimits {
  std::uint32_t bound = 1;                // how often a loop's body may run
  std::uint64_t candidates = 20'000'000;  // reads-from assignments to look at, at most
};

struct Allowed {
  std::set<Outcome> outcomes;           // the filter is not applied
  std::set<Outcome> without_buffering;  // those that need no load buffering
  std::map<Outcome, Needs> needs;       // of every outcome, by whichever execution asks for least
  bool complete = true;                 // false: the limits were reached, some may be missing
};

Allowed allowed_outcomes(const Program& program, const OracleLimits& limits = {});

}  // namespace gdakit::sim::litmus
