#include "tools/litmus_run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "sim/explore/text.h"
#include "sim/explore/token.h"
#include "sim/litmus/parser.h"
#include "tools/command.h"
#include "tools/litmus_report.h"
#include "tools/niclitmus_run.h"

namespace gdakit::tools {
namespace {

using sim::litmus::Program;
using sim::litmus::Runner;
using sim::litmus::RunnerOptions;
using sim::litmus::Summary;

constexpr std::uint64_t kRandomRuns = 100'000;
// Minutes: more than any test of the public collection needs.
constexpr std::uint64_t kMostExecutions = 20'000'000;

class Session {
 public:
  Session(const LitmusArguments& arguments, std::ostream& out, std::ostream& errors)
      : arguments_(arguments), out_(out), errors_(errors), json_(out) {}

  int run() {
    if (arguments_.json) json_.begin_array();
    for (const std::string& file : arguments_.files) {
      if (!run_file(file)) return kBadUsage;
    }
    if (arguments_.json) json_.end();
    if (failed_) return kFailed;
    if (unreadable_) return kBadUsage;
    return unsupported_ ? kUnsupportedLitmus : 0;
  }

  int replay() {
    const Result<sim::Token> token = sim::Token::parse(*arguments_.replay);
    if (!token) return complain(token.error().message());
    if (arguments_.files.size() != 1) return complain("--replay goes with one file");
    const Result<Program> program = sim::litmus::parse_file(arguments_.files.front());
    if (!program) return complain(program.error().message());
    const auto strategy = token->strategy();
    sim::Chooser chooser(*strategy);
    chooser.begin();
    Runner runner(*program, RunnerOptions{arguments_.bound});
    sim::Trace trace;
    runner.run(chooser, &trace);
    out_ << sim::trace_text(trace);
    if (runner.ending() == sim::litmus::Ending::finished) {
      out_ << describe(*program, runner.outcome()) << '\n';
    } else {
      out_ << "no final state\n";
    }
    return 0;
  }

 private:
  int complain(const std::string& message) {
    errors_ << "gdakit litmus: " << message << '\n';
    return kBadUsage;
  }

  // False: the verdicts cannot be read.
  bool run_file(const std::string& file) {
    if (is_niclitmus(file)) return run_nic_file(file);
    const Result<Program> program = sim::litmus::parse_file(file);
    if (!program) {
      const bool unsupported = program.error().code() == Code::unavailable;
      (unsupported ? unsupported_ : unreadable_) = true;
      complain(program.error().message());
      if (arguments_.json) print_json_error(file, unsupported, program.error().message(), json_);
      return true;
    }
    const Result<Expectations*> expectations = expectations_for(file);
    if (!expectations) {
      complain(expectations.error().message());
      return false;
    }
    const Summary summary = explore(*program);
    LitmusReport report;
    report.file = file;
    report.program = &*program;
    report.summary = &summary;
    report.exhaustive = arguments_.mode == "exhaustive";
    if (*expectations != nullptr) {
      report.expectation =
          (*expectations)
              ->find(std::filesystem::path(file).filename().string(), program->quantifier);
    }
    report.judgement = judge(*program, summary, report.expectation);
    if (summary.witnesses != 0) {
      report.replay =
          "gdakit litmus " + file + " --replay " + sim::Token(summary.first_witness).text();
      if (arguments_.bound != 1) report.replay += " --bound " + std::to_string(arguments_.bound);
    }
    failed_ = failed_ || report.judgement == Judgement::forbidden ||
              (arguments_.strict && report.judgement == Judgement::missed);
    arguments_.json ? print_json(report, json_) : print_text(report, out_);
    return true;
  }

  bool run_nic_file(const std::string& file) {
    const NicLitmusOptions options{arguments_.mode == "exhaustive", arguments_.runs.value_or(0),
                                   arguments_.seed};
    const Result<bool> holds =
        run_niclitmus(file, options, out_, arguments_.json ? &json_ : nullptr);
    if (!holds) {
      unreadable_ = true;
      complain(holds.error().message());
      if (arguments_.json) print_json_error(file, false, holds.error().message(), json_);
    } else {
      failed_ = failed_ || !*holds;
    }
    return true;
  }

  Summary explore(const Program& program) const {
    const RunnerOptions options{arguments_.bound};
    if (arguments_.mode == "exhaustive") {
      return explore_all(program, options, arguments_.runs.value_or(kMostExecutions));
    }
    return explore_random(program, options, arguments_.seed, arguments_.runs.value_or(kRandomRuns));
  }

  // Null: there are none. Each file of verdicts is read once.
  Result<Expectations*> expectations_for(const std::string& file) {
    std::string path = arguments_.expect;
    if (path.empty()) {
      const std::filesystem::path beside =
          std::filesystem::path(file).parent_path() / "verdicts.csv";
      std::error_code ignored;
      if (!std::filesystem::exists(beside, ignored)) return nullptr;
      path = beside.string();
    }
    const auto known = expectations_.find(path);
    if (known != expectations_.end()) return &known->second;
    Result<Expectations> read = Expectations::read(path);
    if (!read) return read.error();
    return &expectations_.emplace(path, std::move(*read)).first->second;
  }

  const LitmusArguments& arguments_;
  std::ostream& out_;
  std::ostream& errors_;
  JsonWriter json_;
  std::map<std::string, Expectations> expectations_;
  bool failed_ = false, unreadable_ = false, unsupported_ = false;
};

}  // namespace

int run_litmus(const LitmusArguments& arguments, std::ostream& out, std::ostream& errors) {
  Session session(arguments, out, errors);
  return arguments.replay ? session.replay() : session.run();
}

}  // namespace gdakit::tools
