// What `gdakit litmus` prints for one test.
#pragma once

#include <ostream>
#include <string>

#include "core/base/json.h"
#include "sim/litmus/program.h"
#include "sim/litmus/summary.h"
#include "tools/litmus_expectations.h"

namespace gdakit::tools {

struct LitmusReport {
  std::string file;  // as typed
  const sim::litmus::Program* program = nullptr;
  const sim::litmus::Summary* summary = nullptr;
  const Expectation* expectation = nullptr;  // null: none
  Judgement judgement = Judgement::open;
  bool exhaustive = false;
  std::string replay;  // the command line that shows a witness; "": there is none
};

// "seen in 3 of 7 executions (all explored)", "never seen in 100000 random executions".
std::string verdict(const LitmusReport& report);

void print_text(const LitmusReport& report, std::ostream& out);
// One object; always the same keys.
void print_json(const LitmusReport& report, JsonWriter& json);
// A file that was not explored.
void print_json_error(const std::string& file, bool unsupported, const std::string& message,
                      JsonWriter& json);

}  // namespace gdakit::tools
