// `gdakit mutants`
#include "sim/world/mutants/mutants.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <unistd.h>

#include "core/base/files.h"
#include "core/base/json.h"
#include "tools/command.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/whole_number.h"

namespace gdakit::tools {
namespace {

constexpr const char* kDetails = R"(
Weakens every order of the device protocol, one at a time: leaves fences out, narrows scopes, makes
acquires, releases and strong accesses weaker, swaps neighbouring stores. Each of these mutants runs
in the scenarios of `gdakit explore` until one of them notices. One that nobody notices is either
argued to be equivalent or a defect: of the protocol, of the scenarios, or of the model.

^C ends the run with the results so far; a second one ends it at once.

Exit status: 0 if every mutant is found or argued, 1 if not, 2 for bad usage, 130 after ^C.
)";

struct Arguments {
  sim::MutantOptions options;
  bool first_order_only = false;
  bool json = false;
  std::string markdown;
};

void write_result(JsonWriter& json, const sim::MutantResult& mutant) {
  json.begin_object();
  json.member("mutant", mutant.text());
  json.member("killed", mutant.killed());
  if (mutant.killed()) {
    json.member("scenario", mutant.killer);
    json.member("finding", sim::finding_name(mutant.finding));
    json.member("first_kill", mutant.first_kill);
    json.member("kill_rate", mutant.kill_rate);
  }
  if (!mutant.argument.empty()) json.member("argument", mutant.argument);
  json.member("executions", mutant.executions);
  json.end();
}

void write_json(const sim::MutantReport& report, std::ostream& to) {
  JsonWriter json(to);
  json.begin_object();
  json.member("seconds", report.seconds);
  json.member("killed", std::uint64_t{report.killed()});
  json.member("not_run", std::uint64_t{report.not_run});
  for (const auto& [name, mutants] : {std::pair{"first_order", &report.first_order},
                                      std::pair{"second_order", &report.second_order}}) {
    json.key(name);
    json.begin_array();
    for (const sim::MutantResult& mutant : *mutants) write_result(json, mutant);
    json.end();
  }
  json.key("defects");
  json.begin_array();
  for (const std::string& defect : report.defects()) json.value(defect);
  json.end();
  json.end();
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", seconds);
  return text;
}

std::string found_text(const sim::MutantResult& mutant) {
  if (!mutant.killed()) return mutant.argument.empty() ? "SURVIVES" : "survives, as argued";
  return mutant.killer + ": " + sim::finding_name(mutant.finding) + ", execution " +
         std::to_string(mutant.first_kill);
}

// A row for each mutant, then why those survive that do.
void print(const sim::MutantReport& report) {
  std::size_t width = 0;
  for (const sim::MutantResult& mutant : report.first_order) {
    width = std::max(width, mutant.text().size());
  }
  for (const sim::MutantResult& mutant : report.first_order) {
    std::cout << std::left << std::setw(static_cast<int>(width)) << mutant.text() << "  "
              << found_text(mutant) << '\n';
  }
  for (const sim::MutantResult& mutant : report.first_order) {
    if (mutant.killed()) continue;
    std::cout << "survives: " << mutant.text() << '\n'
              << "  " << (mutant.argument.empty() ? "nobody has said why" : mutant.argument)
              << '\n';
  }
  for (const sim::MutantResult& pair : report.second_order) {
    if (!pair.killed()) std::cout << "survives: " << pair.text() << '\n';
  }
  for (const std::string& complaint : report.complaints) std::cout << complaint << '\n';
  std::cout << report.killed() << " of " << report.first_order.size() << " mutants found, "
            << report.defects().size() << " without an explanation, "
            << seconds_text(report.seconds) << '\n';
  if (report.not_run > 0) std::cout << "interrupted; " << report.not_run << " were not run\n";
}

int refuse(const std::string& sentence) {
  std::cerr << "gdakit mutants: " << sentence << '\n';
  return kBadUsage;
}

sim::MutantReport run_with_progress(const sim::MutantOptions& options) {
  ProgressLine line(std::cerr, terminal_columns(STDERR_FILENO));
  line.show("looking for the places that mutants change");
  return sim::run_mutants(options, [&](std::size_t done, std::size_t all) {
    line.show("mutant " + std::to_string(done) + " of " + std::to_string(all));
  });
}

int run_mutants_command(const Arguments& arguments) {
  sim::MutantOptions options = arguments.options;
  options.second_order = !arguments.first_order_only;
  const std::string problem = sim::problem_of_name(options.only);
  if (!problem.empty()) return refuse(problem);
  if (!options.sources.empty() && !std::filesystem::exists(options.sources / "device/ring.h")) {
    return refuse(options.sources.string() + " is no root of gdakit's sources: there is no device");
  }
  if (!arguments.markdown.empty()) {
    const Result<void> writable = try_to_write(arguments.markdown);
    if (!writable) return refuse(writable.error().message());
  }
  options.stop = &interrupt_request();
  const sim::MutantReport report = run_with_progress(options);
  const bool stopped = *options.stop;
  if (report.first_order.empty() && !stopped) {
    return refuse("no mutant's name contains '" + options.only + "'");
  }
  arguments.json ? write_json(report, std::cout) : print(report);
  // What is not complete does not take the place of what is.
  if (!arguments.markdown.empty() && !stopped) {
    const Result<void> written = write_file(arguments.markdown, sim::to_markdown(report));
    if (!written) {
      std::cerr << "gdakit mutants: " << written.error().message() << '\n';
      return kFailed;
    }
  }
  if (!report.defects().empty()) return kFailed;
  return stopped ? kInterrupted : 0;
}

}  // namespace

Command add_mutants(CLI::App& parent) {
  CLI::App* const app =
      parent.add_subcommand("mutants", "Check that every order of the protocol is needed");
  const auto arguments = std::make_shared<Arguments>();
  app->add_option("--executions", arguments->options.executions,
                  "Of each scenario, until a mutant counts as a survivor (1000)")
      ->type_name("N")
      ->check(whole_number(1));
  app->add_option("--seed", arguments->options.seed, "Other executions")
      ->check(whole_number(0))
      ->type_name("K");
  app->add_option("--only", arguments->options.only, "Mutants whose name contains this")
      ->type_name("TEXT");
  app->add_option("--sources", arguments->options.sources,
                  "The project's root: a place there that no scenario comes past is a defect")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  app->add_flag("--first-order", arguments->first_order_only, "Leave pairs of survivors out");
  app->add_option("--markdown", arguments->markdown, "Write the table")->type_name("FILE");
  app->add_flag("--json", arguments->json, "Print JSON");
  app->footer(kDetails);
  return {app, [arguments] { return run_mutants_command(*arguments); }};
}

}  // namespace gdakit::tools
