// Reports of one PE, or of all PEs of a job, as text and as JSON.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tools/check/step.h"

namespace gdakit::tools::check {

struct PeReport {
  int pe = 0;
  std::string host;
  std::vector<StepReport> steps;
  std::vector<std::string> nics = {};  // that this PE takes
};

Verdict verdict_of(const std::vector<PeReport>& pes);

// A line for each step, the worst of all PEs'; then each finding, once for all PEs that have it
// alike.
void print_text(std::ostream& out, const std::vector<PeReport>& pes);

// {"gdakit": version, "verdict": ..., "pes": [{"pe", "host", "verdict", "steps": [{"step",
// "verdict", "summary", "facts", "findings"}]}]}; a finding has the names of the fields of Finding.
void print_json(std::ostream& out, const std::vector<PeReport>& pes);

}  // namespace gdakit::tools::check
