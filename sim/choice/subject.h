// Subject: what an explorer explores.
#pragma once

#include <cstdint>
#include <string>

#include "sim/choice/choice.h"
#include "sim/choice/trace.h"

namespace gdakit::sim {

// What kind of thing went wrong.
enum class FindingKind : std::uint8_t {
  none,
  race,        // two accesses that nothing orders, one of them weak
  mixed_size,  // two accesses that overlap in part and that nothing orders
  weak_poll,   // a wait loop that looks at memory with weak loads only
  mmio,        // a doorbell register touched by something else than store_mmio
  stray,       // an access outside of the world's memory
  hang,        // nobody can go on, or everybody only waits
  group,       // a misuse of shuffles, votes or barriers
  invariant,   // what the scenario says of memory, CQEs or Status does not hold
  thrown,      // the kernel threw
  setup,       // there is nothing to run: what was asked for cannot be
};
const char* finding_name(FindingKind kind);

// How one execution ended.
struct RunResult {
  FindingKind finding = FindingKind::none;
  std::string text;            // of the finding: a sentence; "" if there is none
  std::uint64_t outcome = 0;   // a hash of what the execution ended with: distinct outcomes differ
  std::uint64_t accesses = 0;  // of memory, by all agents
  bool redundant = false;      // cut short: like one that was explored already

  bool passed() const { return finding == FindingKind::none; }
};

class Subject {
 public:
  virtual ~Subject() = default;

  virtual const std::string& name() const = 0;

  // One execution from the beginning to its end or to its first finding. All choices come from
  // `chooser`, which has begun. `trace` is null, or empty and filled in. Calls do not influence one
  // another.
  virtual RunResult run(Chooser& chooser, Trace* trace) = 0;
};

}  // namespace gdakit::sim
