// Step agreement: what the PEs of a job should have alike, and which of them are the odd ones out.
#pragma once

#include <vector>

#include "tools/check/report.h"

namespace gdakit::tools::check {

StepReport look_at_agreement(const std::vector<PeReport>& pes);

}  // namespace gdakit::tools::check
