// The `gdakit` command.
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "tools/checked_output.h"
#include "tools/command.h"

namespace {

constexpr const char* kExamples = R"(
Examples:
  gdakit run -n 4 ./ring              four PEs on this host; the first failure ends the job
  gdakit run -n 2 --timeout 60 ./ring --size 1M
  gdakit explore all                  looks for missing fences in a simulated weak memory
  gdakit mutants                      checks that every fence of the protocol is needed
  gdakit litmus FILE...               runs litmus tests of the memory model
  gdakit top DIR                      what the NICs of a running job do
  gdakit run -n 4 --trace t.json ./ring   a timeline of blocks, queues, NICs and packets
  gdakit verbs -- ibv_devinfo         any program of RDMA, on a soft ConnectX
  gdakit check                        why a ConnectX or a cluster does not come up
  gdakit info                         what this build has, and every option with its value
  gdakit help run                     the options of one command
  GDAKIT_BACKEND=softnic gdakit info --json
)";

// What is wrong with the command line, and whose help says more.
std::string failure_message(const CLI::App* app, const CLI::Error& error) {
  const auto chosen = app->get_subcommands();
  const std::string name = "gdakit" + (chosen.empty() ? "" : " " + chosen.front()->get_name());
  return name + ": " + error.what() + " (see " + name + " --help)\n";
}

// Empty if `word` is an option or names a command.
std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (word == command->get_name()) return {};
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  if (word.starts_with('-')) return {};
  return "gdakit: there is no command \"" + word + "\"; there are " + names;
}

// What follows the program's name; `help run` means `run --help`.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.resize(std::min<std::size_t>(words.size(), 1));
  words.push_back("--help");
  return words;
}

int run_command_line(int argc, char** argv) {
  CLI::App app{"gdakit: GPU-initiated RDMA that can be tested anywhere", "gdakit"};
  app.set_version_flag("--version", "gdakit " GDAKIT_VERSION);
  app.footer(kExamples);
  app.require_subcommand(1);
  app.failure_message(failure_message);
  const std::vector<gdakit::tools::Command> commands = {
      gdakit::tools::add_run(app),      gdakit::tools::add_info(app),
      gdakit::tools::add_explore(app),  gdakit::tools::add_mutants(app),
      gdakit::tools::add_litmus(app),   gdakit::tools::add_top(app),
      gdakit::tools::add_timeline(app), gdakit::tools::add_verbs(app),
      gdakit::tools::add_check(app),
  };
  std::vector<std::string> words = words_of(argc, argv);
  const std::string unknown = words.empty() ? "" : unknown_command(app, words.front());
  if (!unknown.empty()) {
    std::cerr << unknown << '\n';
    return gdakit::tools::kBadUsage;
  }
  const auto marker = std::find(words.begin(), words.end(), "--");
  if (marker != words.end()) *marker = gdakit::tools::kProgramFollows;
  std::reverse(words.begin(), words.end());  // CLI11 takes the last one first
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" of status 0, which exit() prints.
    return app.exit(error) == 0 ? 0 : gdakit::tools::kBadUsage;
  }
  for (const gdakit::tools::Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return gdakit::tools::kBadUsage;
}

// A failure's own status stays; a success whose result nobody got is none.
int run_with_checked_output(int argc, char** argv) {
  gdakit::tools::CheckedOutput output;
  const int status = run_command_line(argc, argv);
  const gdakit::Result<void> written = output.finish();
  if (written) return status;
  const bool named = argc > 1 && *argv[1] != '-';
  std::cerr << "gdakit" << (named ? std::string(" ") + argv[1] : "") << ": "
            << written.error().message() << '\n';
  return status == 0 ? gdakit::tools::kFailed : status;
}

}  // namespace

int main(int argc, char** argv) {
  gdakit::tools::hold_standard_descriptors();
  try {
    return run_with_checked_output(argc, argv);
  } catch (const std::exception& exception) {
    std::cerr << "gdakit: " << exception.what() << '\n';
    return gdakit::tools::kFailed;
  }
}
