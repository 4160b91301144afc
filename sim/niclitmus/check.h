// Check: whether a NIC litmus test shows what its verdicts say, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/choice/choice.h"
#include "sim/niclitmus/program.h"

namespace gdakit::sim::niclitmus {

// What exploring one setting of a test has shown.
struct Check {
  const Verdict* verdict = nullptr;
  std::map<litmus::Outcome, std::uint64_t> outcomes;
  std::uint64_t executions = 0;
  std::uint64_t redundant = 0;  // among them
  std::uint64_t witnesses = 0;  // executions in which the condition held
  std::uint64_t races = 0;
  std::string race;       // the first one, in words
  bool complete = false;  // every execution there is was seen

  // In exhaustive mode: nothing forbidden was seen, and everything allowed was. In random mode only
  // the first can be told.
  bool passed() const;
  // Why it did not pass, or "".
  std::string complaint() const;
};

// "record-no-fence [default]: allowed, with a race; seen in 3 of 12 executions, all there are: ok".
std::string describe(const Program& program, const Check& check);

// Every execution, up to a limit.
Check check_all(const Program& program, const Verdict& verdict, std::uint64_t max_executions);
// So many at random.
Check check_random(const Program& program, const Verdict& verdict, std::uint64_t seed,
                   std::uint64_t executions);

}  // namespace gdakit::sim::niclitmus
