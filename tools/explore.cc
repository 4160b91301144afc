// `gdakit explore SCENARIO`
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>

#include "tools/command.h"
#include "tools/explore_run.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/whole_number.h"

namespace gdakit::tools {
namespace {

constexpr const char* kDetails = R"(
Runs a scenario of the protocol in a simulated weak memory, each time with other interleavings,
stale reads, NIC behaviours and faults, until something goes wrong or the limit is reached. A
failure is shrunk to what it needs, explained, and named by a token that replays it.

Strategies: random; pct (few deviations, well spread); mixed (both by turns); exhaustive (every
execution there is, for the smallest scenarios).

^C ends the search with the results so far; a second one ends it at once.

Exit status: 0 if all passed, 1 after a finding, 2 for bad usage, 130 after ^C.

Examples:
  gdakit explore --list
  gdakit explore all --schedules 2000
  gdakit explore SCENARIO --seconds 60 --seed 7 --html failure.html
  gdakit explore put-quiet --without WqeBeforeDoorbellRecord --html failure.html
  gdakit explore SCENARIO --replay TOKEN
)";

}  // namespace

Command add_explore(CLI::App& parent) {
  CLI::App* const app = parent.add_subcommand(
      "explore", "Search a scenario for missing fences in a simulated weak memory");
  const auto arguments = std::make_shared<ExploreArguments>();
  app->add_option("scenario", arguments->scenario, "A scenario's name, or all")
      ->type_name("SCENARIO");
  app->add_flag("--list", arguments->list, "Show the scenarios");
  app->add_option("--schedules", arguments->schedules,
                  "Executions of each scenario (2000, or no limit with --seconds or exhaustive)")
      ->check(whole_number(0))
      ->type_name("N");
  app->add_option("--seconds", arguments->seconds, "Time for each scenario")->type_name("S");
  app->add_option("--seed", arguments->seed, "Other executions")
      ->check(whole_number(0))
      ->type_name("K");
  app->add_option("--strategy", arguments->strategy, "mixed, random, pct or exhaustive")
      ->type_name("NAME");
  app->add_option("--preemptions", arguments->preemptions, "At most so many (exhaustive only)")
      ->check(whole_number(0))
      ->type_name("N");
  app->add_option("--gpu", arguments->gpu, "hopper or ampere: how a NIC's writes are ordered")
      ->type_name("NAME");
  app->add_option("--without", arguments->without,
                  "Leave an order of device/order.h out, to see what breaks")
      ->type_name("ORDER");
  app->add_option("--replay", arguments->replay, "Run the execution that this token names")
      ->type_name("TOKEN");
  app->add_option("--html", arguments->html, "Write the first failing run as a page")
      ->type_name("FILE");
  app->add_option("--json", arguments->json, "Write the results; - for standard output")
      ->type_name("FILE");
  app->footer(kDetails);
  return {app, [arguments] {
            return run_explore(
                *arguments, sim::scenario_list(),
                {&std::cout, &std::cerr, terminal_columns(STDERR_FILENO), &interrupt_request()});
          }};
}

}  // namespace gdakit::tools
