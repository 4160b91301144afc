// The litmus tests of a folder with a verdicts.csv.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "sim/litmus/program.h"
#include "sim/litmus/summary.h"

namespace gdakit::sim::litmus {

struct Entry {
  std::string path;
  std::string title;  // the file's name as part of a test's name
  bool forbidden = false;
  std::string use;
  // Of an allowed witness that the machine does not show: why, a cause of buffering.h. Else empty.
  std::string missed_by;

  bool is_shown() const { return !forbidden && missed_by.empty(); }
};
inline void PrintTo(const Entry& entry, std::ostream* out) { *out << entry.path; }

// Every .litmus file of the public collection and of our own, in the order of their names; each of
// them has a verdict.
const std::vector<Entry>& collection();
Program load(const Entry& entry);

// The text of the program and these outcomes of it: what a failed test prints.
std::string report(const Program& program, const std::vector<Outcome>& outcomes);

}  // namespace gdakit::sim::litmus
