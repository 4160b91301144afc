// `gdakit check`: for a node or a job that does not come up.
#include "tools/command.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "tools/check/job.h"
#include "tools/check/report.h"
#include "tools/check/steps.h"

namespace gdakit::tools {
namespace {

struct CheckWords {
  bool json = false;
  bool job = false;
  double limit_s = 10;
  std::vector<std::string> only;
};

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Empty if all names are steps'.
std::string unknown_step(const std::vector<std::string>& only) {
  const std::vector<std::string> names = check::step_names();
  for (const std::string& name : only) {
    if (std::ranges::find(names, name) == names.end()) {
      return "there is no step \"" + name + "\"; there are " + check::joined(names);
    }
  }
  return {};
}

bool asks_gpus(const std::vector<std::string>& only) {
  return std::ranges::any_of(check::steps(), [&](const check::Step& step) {
    return step.asks_gpus && (only.empty() || std::ranges::find(only, step.name) != only.end());
  });
}

std::vector<check::PeReport> check_alone(const check::Surroundings& surroundings,
                                         const std::vector<std::string>& only) {
  check::PeReport report{0, host_name(), check::run_steps(surroundings, only)};
  if (only.empty() || std::ranges::find(only, check::kPairs) != only.end()) {
    report.steps.push_back(check::skipped("it takes a job: mpirun ... gdakit check --job"));
    report.steps.back().step = check::kPairs;
  }
  return {std::move(report)};
}

int run(const CheckWords& words) {
  if (const std::string wrong = unknown_step(words.only); !wrong.empty()) {
    std::cerr << "gdakit check: --only: " << wrong << '\n';
    return kBadUsage;
  }
  const Result<Options> options = Options::from_environment();
  if (!options) {
    std::cerr << "gdakit check: " << options.error().message() << '\n';
    return kBadUsage;
  }
  const std::chrono::milliseconds limit(static_cast<std::int64_t>(words.limit_s * 1000));
  check::Surroundings surroundings = check::look_around(*options, asks_gpus(words.only), limit);
  const std::vector<check::PeReport> pes =
      words.job ? check::check_job(surroundings, host_name(), words.only)
                : check_alone(surroundings, words.only);
  if (pes.empty()) return 0;  // PE 0 has it
  if (words.json) {
    check::print_json(std::cout, pes);
  } else {
    check::print_text(std::cout, pes);
  }
  return check::verdict_of(pes) == check::Verdict::failed ? kFailed : 0;
}

}  // namespace

Command add_check(CLI::App& parent) {
  auto words = std::make_shared<CheckWords>();
  CLI::App* app = parent.add_subcommand(
      "check", "Try all that a ConnectX needs, and say what is wrong and why");
  app->add_flag("--json", words->json, "JSON, for machines");
  app->add_option("--only", words->only, "These steps alone, separated by commas")
      ->delimiter(',')
      ->type_name("STEP,STEP");
  app->add_flag("--job", words->job,
                "All PEs of a job, started by a launcher: they put to each other, and PE 0 prints");
  app->add_option("--limit", words->limit_s, "How long each put may take (10)")
      ->check(CLI::Range(0.001, 3600.0).description(""))
      ->type_name("SECONDS");
  app->footer(
      "\nThe exit status is 0 where no step failed, 1 where one did, 2 for a wrong command "
      "line.\nNothing on the machine is changed, and root is not needed.");
  return {app, [words] { return run(*words); }};
}

}  // namespace gdakit::tools
