#include "tools/niclitmus_run.h"

#include <filesystem>

#include "sim/niclitmus/check.h"
#include "sim/niclitmus/parser.h"

namespace gdakit::tools {
namespace {

using sim::niclitmus::Check;
using sim::niclitmus::Program;

constexpr std::uint64_t kRandomRuns = 20'000;
constexpr std::uint64_t kMostExecutions = 1'000'000;

void write(const Program& program, const Check& check, bool holds, JsonWriter& json) {
  json.begin_object();
  json.member("verdict", describe(program, check));
  json.member("executions", check.executions);
  json.member("witnesses", check.witnesses);
  json.member("races", check.races);
  json.member("complete", check.complete);
  json.member("holds", holds);
  json.end();
}

}  // namespace

bool is_niclitmus(const std::string& file) {
  return std::filesystem::path(file).extension() == ".niclitmus";
}

Result<bool> run_niclitmus(const std::string& file, const NicLitmusOptions& options,
                           std::ostream& out, JsonWriter* json) {
  const Result<Program> program = sim::niclitmus::parse_file(file);
  if (!program) return program.error();
  if (json != nullptr) {
    json->begin_object();
    json->member("file", file);
    json->key("verdicts");
    json->begin_array();
  }
  bool all_hold = true;
  for (const auto& verdict : program->verdicts) {
    const std::uint64_t usual = options.exhaustive ? kMostExecutions : kRandomRuns;
    const std::uint64_t runs = options.runs == 0 ? usual : options.runs;
    const Check check = options.exhaustive
                            ? sim::niclitmus::check_all(*program, verdict, runs)
                            : sim::niclitmus::check_random(*program, verdict, options.seed, runs);
    const bool holds = check.passed() && (check.complete || !options.exhaustive);
    all_hold = all_hold && holds;
    if (json != nullptr) {
      write(*program, check, holds, *json);
    } else {
      out << describe(*program, check) << '\n';
    }
  }
  if (json != nullptr) {
    json->end();
    json->end();
  }
  return all_hold;
}

}  // namespace gdakit::tools
