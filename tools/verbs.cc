// gdakit verbs: runs a program that finds soft ConnectXes by the distribution's own libibverbs.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/verbs_fabric.h"
#include "tools/verbs_program.h"

namespace gdakit::tools {
namespace {

constexpr const char* kDetails = R"help(
Behind -- comes a program with its arguments, which this command becomes. Instead of it:

  env                       what the program is given, for those who start programs by other
                            means: eval "$(gdakit verbs env)"; ibv_devices
  ls                        the NICs that are on in the fabric, and whose they are
  stats                     what each has counted (docs/counters.md); --output FILE.json or .prom
  kill-port WHOSE           the port of a NIC goes down; WHOSE is PID, PID/mlx5_0 or all
  set WHOSE port=up         and comes back
  set WHOSE gids=renumber   its GIDs move to other places of their table, or back
  set WHOSE faults=drop=1%  packets that it sends meet these faults instead of those before

--pcap and --faults are GDAKIT_CAPTURE and GDAKIT_NIC_FAULTS: what each NIC sends and receives, for
Wireshark, as mlx5_0-PID.pcapng; and what a bad network does to what it sends. --trace writes a
timeline of the NICs of the program, and of those that it starts, when it has ended; with it this
command waits for the program (docs/timeline.md).

--fail breaks something of the node, as on a real one that is not set up (docs/on-a-connectx.md);
`gdakit verbs --fail help` lists what there is. One of a single NIC is mlx5_1/port=down, and one of
a single PE of a job pe1:devx=EOPNOTSUPP.

Exit status: the program's; 1 if it cannot be given NICs, or nobody answers; 126 if it cannot be
executed, 127 if it was not found, 2 for bad usage.
)help";

int run_program(const VerbsOptions& options) {
  const Result<Variables> variables = verbs_variables(options);
  if (!variables) return verbs_failed(variables.error().message(), kFailed);
  const std::vector<std::string> command(options.words.begin() + 1, options.words.end());
  if (options.trace.empty()) return become_program(command, *variables);
  return run_traced(command, *variables, options.trace);
}

int print_environment(const VerbsOptions& options) {
  if (!options.trace.empty()) {
    return verbs_failed(
        "--trace makes a timeline at a program's end; with env set GDAKIT_TRACE to "
        "a folder, and make it by `gdakit timeline`",
        kBadUsage);
  }
  const Result<Variables> variables = verbs_variables(options);
  if (!variables) return verbs_failed(variables.error().message(), kFailed);
  for (const auto& [name, value] : *variables) {
    std::cout << "export " << name << '=' << quoted(value) << '\n';
  }
  return 0;
}

int run_verbs(const VerbsOptions& options, const std::string& output) {
  if (options.fail == std::vector<std::string>{"help"}) {
    std::cout << "--fail LIST, with commas between failures: [peN:][mlx5_N/]NAME=VALUE\n\n"
              << failures_help();
    return 0;
  }
  const std::vector<std::string>& words = options.words;
  const std::string first = words.empty() ? "" : words.front();
  if (first == kProgramFollows && words.size() > 1) return run_program(options);
  if (first == "set") return set_fabric(options.fabric, {words.begin() + 1, words.end()});
  if (first == "kill-port" && words.size() == 2) {
    return set_fabric(options.fabric, {words[1], "port=down"});
  }
  if (words.size() == 1 && first == "env") return print_environment(options);
  if (words.size() == 1 && first == "ls") return list_fabric(options.fabric);
  if (words.size() == 1 && first == "stats") return show_fabric_counters(options.fabric, output);
  return verbs_failed(
      "name a program behind --: gdakit verbs -- ibv_devinfo; or env, ls, stats, "
      "kill-port or set (see gdakit verbs --help)",
      kBadUsage);
}

}  // namespace

Command add_verbs(CLI::App& parent) {
  auto options = std::make_shared<VerbsOptions>();
  auto output = std::make_shared<std::string>();
  CLI::App* const app =
      parent.add_subcommand("verbs", "Run any program of RDMA verbs on soft ConnectXes");
  app->add_option("--nics", options->nics, "How many, 1 to 16: mlx5_0, mlx5_1, ...");
  app->add_option("--model", options->model, "ConnectX-6, 7 or 8");
  app->add_option("--link", options->link, "The link layer, roce or ib");
  app->add_option("--fabric", options->fabric,
                  "The fabric by its name: programs of one user and host meet that name the same");
  app->add_option(
      "--address", options->address,
      "Reach other hosts, and be reached, at this address or interface: 10.0.0.7, eth0");
  app->add_option("--pcap", options->pcap, "A folder for captures of all packets");
  app->add_option("--faults", options->faults,
                  "drop=1%,delay=50us..2ms (docs/test-without-hardware.md)");
  app->add_option("--trace", options->trace, "A timeline of the program's NICs, as JSON");
  app->add_option("--fail", options->fail,
                  "What is broken of the node: port=down,mlx5_1/devx=EPERM; help lists all")
      ->allow_extra_args(false);
  app->add_option("--output", *output, "Where stats writes to, instead of a table");
  app->allow_extras(false);
  app->add_option("command", options->words, "-- and the program with its arguments, or as below");
  app->positionals_at_end();
  app->footer(kDetails);
  return {app, [options, output] { return run_verbs(*options, *output); }};
}

}  // namespace gdakit::tools
