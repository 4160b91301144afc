// `gdakit verbs ls|stats|kill-port|set`: looks at the NICs of a running fabric, and changes them.
#pragma once

#include <string>
#include <vector>

namespace gdakit::tools {

// All return the exit status; what does not answer is said on stderr, and makes it 1.

// A line for each NIC that is on.
int list_fabric(const std::string& fabric);

// What each has counted, as a table on stdout or into a file (counters_report.h).
int show_fabric_counters(const std::string& fabric, const std::string& file);

// `words`: whose NICs, then what becomes of them: "1234", "1234/mlx5_0" or "all", then "port=down",
// "port=up", "faults=drop=1%" or "faults=".
int set_fabric(const std::string& fabric, const std::vector<std::string>& words);

}  // namespace gdakit::tools
