// What is known of public litmus tests: whether the memory model allows their witness.
//
// The witness of `exists C` and `~exists C` is C, that of `forall C` is not C. The quantifier alone
// does not say which outcomes are right: in public collections `exists` and `forall` are also used
// as questions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sim/litmus/program.h"
#include "sim/litmus/summary.h"

namespace gdakit::tools {

struct Expectation {
  std::string file;        // its name, without folders
  bool forbidden = false;  // the witness must not be seen; otherwise it is allowed
  std::string use;         // "must-never", "should-exhibit-weak", ... or ""
};

class Expectations {
 public:
  // Text in one of two forms. With a header that names them, the columns file, witness_verdict
  // (allowed or forbidden) and use. Without, two columns: a path and 1 if the test's condition is
  // true as it stands, 0 if not; what that says of the witness depends on the quantifier. `name`
  // stands in errors.
  static Result<Expectations> parse(std::string_view text, const std::string& name);
  static Result<Expectations> read(const std::string& path);

  // Null if nothing is known of the file.
  const Expectation* find(std::string_view file, sim::litmus::Quantifier quantifier);

 private:
  struct Row {
    Expectation expectation;
    bool as_it_stands = false;  // the second form: `holds` and not `forbidden`
    bool holds = false;
  };
  std::vector<Row> rows_;
};

// What a summary says about a test, with what is known of it.
enum class Judgement {
  fine,       // nothing forbidden was seen, and what must be seen was
  forbidden,  // an outcome was seen that must not be
  missed,     // everything was explored, and an allowed witness was not seen
  open,       // nothing forbidden was seen so far
};

// `expectation` may be null: then ~exists and forall are demands, and exists is a question.
Judgement judge(const sim::litmus::Program& program, const sim::litmus::Summary& summary,
                const Expectation* expectation);

}  // namespace gdakit::tools
