// `gdakit mutants`
#include "sim/world/mutants/mutants.h"

#include <fstream>
#include <iostream>
#include <memory>
#include <unistd.h>

#include "core/base/json.h"
#include "tools/command.h"
#include "tools/progress.h"

namespace gdakit::tools {
namespace {

constexpr const char* kDetails = R"(
Weakens every order of the device protocol, one at a time: leaves fences out, narrows scopes, makes
acquires, releases and strong accesses weaker, swaps neighbouring stores. Each of these mutants runs
in the scenarios of `gdakit explore` until one of them notices. One that nobody notices is either
argued to be equivalent or a defect: of the protocol, of the scenarios, or of the model.

Exit status: 0 if every mutant is found or argued, 1 if not, 2 for bad usage.
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

void print(const sim::MutantReport& report) {
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
            << report.defects().size() << " without an explanation, " << report.seconds << " s\n";
}

int run_mutants_command(const Arguments& arguments) {
  ProgressLine line(std::cerr, terminal_columns(STDERR_FILENO));
  sim::MutantOptions options = arguments.options;
  options.second_order = !arguments.first_order_only;
  const sim::MutantReport report =
      sim::run_mutants(options, [&](std::size_t done, std::size_t all) {
        line.show("mutant " + std::to_string(done) + " of " + std::to_string(all));
      });
  line.clear();
  if (report.first_order.empty()) {
    std::cerr << "gdakit mutants: no mutant's name contains '" << options.only << "'\n";
    return kBadUsage;
  }
  if (!arguments.markdown.empty()) {
    std::ofstream file(arguments.markdown);
    file << sim::to_markdown(report);
    if (!file.flush()) {
      std::cerr << "gdakit mutants: cannot write " << arguments.markdown << '\n';
      return kFailed;
    }
  }
  if (arguments.json) {
    write_json(report, std::cout);
  } else {
    print(report);
  }
  return report.defects().empty() ? 0 : kFailed;
}

}  // namespace

Command add_mutants(CLI::App& parent) {
  CLI::App* const app =
      parent.add_subcommand("mutants", "Check that every order of the protocol is needed");
  const auto arguments = std::make_shared<Arguments>();
  app->add_option("--executions", arguments->options.executions,
                  "Of each scenario, until a mutant counts as a survivor (1000)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app->add_option("--seed", arguments->options.seed, "Other executions")->type_name("K");
  app->add_option("--only", arguments->options.only, "Mutants whose name contains this")
      ->type_name("TEXT");
  app->add_flag("--first-order", arguments->first_order_only, "Leave pairs of survivors out");
  app->add_option("--markdown", arguments->markdown, "Write the table")->type_name("FILE");
  app->add_flag("--json", arguments->json, "Print JSON");
  app->footer(kDetails);
  return {app, [arguments] { return run_mutants_command(*arguments); }};
}

}  // namespace gdakit::tools
