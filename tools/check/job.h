// `gdakit check --job`: each PE checks its node, the PEs put to each other, and PE 0 gets it all.
#pragma once

#include <string>
#include <vector>

#include "tools/check/report.h"
#include "tools/check/surroundings.h"

namespace gdakit::tools::check {

// PE 0: the reports of all PEs. Others: none, as PE 0 has them to print. Where the PEs did not
// meet, each has its own, which says so.
std::vector<PeReport> check_job(Surroundings& surroundings, const std::string& host,
                                const std::vector<std::string>& only);

}  // namespace gdakit::tools::check
