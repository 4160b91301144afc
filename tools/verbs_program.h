// What `gdakit verbs` gives a program, and how it becomes the program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace gdakit::tools {

struct VerbsOptions {
  int nics = 1;
  int model = 7;
  std::string link = "roce";
  std::string fabric = "default";
  std::string address;
  std::string pcap;
  std::string faults;
  std::string trace;
  std::vector<std::string> fail;   // lists of failures
  std::vector<std::string> words;  // a marker and the program, or what else to do
};

using Variables = std::vector<std::pair<std::string, std::string>>;

// Makes the folders that they name. Errors name the option and what it may be.
Result<Variables> verbs_variables(const VerbsOptions& options);

// Whether this process was given soft ConnectXes, and so are the programs that it starts.
bool has_soft_nics();

// The failures that --fail takes, one a line.
std::string failures_help();

// In a form that a shell reads as it is.
std::string quoted(const std::string& text);

// Returns only where that fails: the exit status, after a sentence on stderr.
int become_program(const std::vector<std::string>& command, const Variables& variables);

// Starts the program, waits for it, and makes a timeline of what it and those that it has started
// have traced. Returns its exit status, or 128 + signal.
int run_traced(const std::vector<std::string>& command, Variables variables,
               const std::string& file);

// Says so on stderr. Returns `status`.
int verbs_failed(const std::string& what, int status);

}  // namespace gdakit::tools
