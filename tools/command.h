// The subcommands of `gdakit`. Each adds itself to the command line and says what runs it.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace gdakit::tools {

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;  // returns the exit status
};

// The exit statuses of `gdakit` itself; `gdakit run` also returns those of its program.
inline constexpr int kFailed = 1;
inline constexpr int kBadUsage = 2;
inline constexpr int kJobTimedOut = 124;
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;

// What stands for the first "--" of the command line while it is parsed. CLI11 would give the words
// after "--" to the main command, but they are the program of `gdakit run`.
inline constexpr const char* kProgramFollows = "\x1d--";

Command add_check(CLI::App& parent);
Command add_run(CLI::App& parent);
Command add_info(CLI::App& parent);
Command add_explore(CLI::App& parent);
Command add_mutants(CLI::App& parent);
Command add_litmus(CLI::App& parent);
Command add_top(CLI::App& parent);
Command add_timeline(CLI::App& parent);
Command add_verbs(CLI::App& parent);

}  // namespace gdakit::tools
