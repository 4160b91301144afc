// Shrinking: from a failing execution to the few picks that the failure needs.
//
// Pick 0 is always the plain one, so what is left after everything that can be 0 is 0 are exactly
// the preemptions, stale reads and so on without which it does not fail. Each candidate is run; it
// takes the place of the best so far if it fails in the same way and is simpler: fewer picks other
// than 0, then earlier ones, then smaller ones.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/choice/subject.h"

namespace gdakit::sim {

// The picks of one execution and what they chose, zeros at the end left out.
struct Picks {
  std::vector<std::uint32_t> picks;
  std::vector<Choice> kinds;

  static Picks taken_by(const Chooser& chooser);

  // How many of a kind are not the plain one.
  std::uint32_t deviations(Choice kind) const;
  // "2 preemptions, 1 stale read"; "none" if all are plain.
  std::string deviations_text() const;
};

struct Shrunk {
  Picks picks;
  RunResult result;
  std::uint64_t executions = 0;  // that shrinking took
  bool finished = false;         // nothing simpler was found; not the limit ended it
};

// `failing` are picks with which `subject` fails. If it does not (it is not deterministic, or the
// picks are of another version) the result passes, and nothing was shrunk.
Shrunk shrink(Subject& subject, const Picks& failing, std::uint64_t max_executions);

}  // namespace gdakit::sim
