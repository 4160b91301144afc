// `gdakit litmus FILE...`
#include <iostream>
#include <memory>

#include "tools/command.h"
#include "tools/litmus_run.h"
#include "tools/whole_number.h"

namespace gdakit::tools {
namespace {

constexpr const char* kDetails = R"(
Runs PTX litmus tests on the simulated weak memory and prints which outcomes there are; a star marks
those that the condition asks about: C for `exists C` and `~exists C`, the opposite of C for
`forall C`. A file NAME.niclitmus is judged on the model of a NIC and its PCIe.

In public collections `exists` and `forall` are also questions, so a file of verdicts says what is
right: columns file, witness_verdict (allowed or forbidden) and use, or a path and 1 if the
condition is true as it stands, 0 if not. Seeing what is forbidden is a failure. Not seeing what is
allowed, though everything was explored, is reported, and with --strict is a failure, too. Without a
verdict, `~exists` and `forall` are demands and `exists` is a question.

Exit status: 0; 1 if something forbidden was seen (or missed, with --strict); 2 if a file cannot be
read or is no litmus test; 3 if a test needs what is not modelled (proxies, quorums).

Examples:
  gdakit litmus MP.litmus SB.litmus
  gdakit litmus MP.litmus --mode random --runs 1000000 --seed 7
  gdakit litmus *.litmus --expect verdicts.csv --strict --json
  gdakit litmus MP.litmus --replay TOKEN
)";

}  // namespace

Command add_litmus(CLI::App& parent) {
  CLI::App* const app =
      parent.add_subcommand("litmus", "Run PTX litmus tests on the simulated weak memory");
  const auto arguments = std::make_shared<LitmusArguments>();
  app->add_option("files", arguments->files, "Litmus tests")->type_name("FILE")->required();
  app->add_option("--mode", arguments->mode, "exhaustive (default) or random")
      ->check(CLI::IsMember({"exhaustive", "random"}))
      ->type_name("NAME");
  app->add_option("--runs", arguments->runs,
                  "Executions of each test: 100000 random ones, or at most 20000000")
      ->check(whole_number(1))
      ->type_name("N");
  app->add_option("--seed", arguments->seed, "Other random executions")
      ->check(whole_number(0))
      ->type_name("K");
  app->add_option("--bound", arguments->bound, "How often a loop's body may run (1)")
      ->check(whole_number(1))
      ->type_name("N");
  app->add_option("--expect", arguments->expect,
                  "Verdicts (default: verdicts.csv beside each test, if there is one)")
      ->type_name("FILE.csv");
  app->add_option("--replay", arguments->replay, "Show the execution that this token names")
      ->type_name("TOKEN");
  app->add_flag("--strict", arguments->strict, "Fail, too, if an allowed outcome is missed");
  app->add_flag("--json", arguments->json, "Print JSON: an array with one object for each test");
  app->footer(kDetails);
  return {app, [arguments] { return run_litmus(*arguments, std::cout, std::cerr); }};
}

}  // namespace gdakit::tools
