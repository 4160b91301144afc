// One PE of `gdakit run`: a process in a process group of its own.
#pragma once

#include <optional>
#include <signal.h>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"
#include "tools/guard.h"

namespace gdakit::tools {

struct PeStart {
  int rank = 0;
  int size = 1;
  std::vector<std::string> command;                              // program and arguments
  std::string root;                                              // GDAKIT_ROOT
  std::string secret;                                            // GDAKIT_SECRET
  int listener = -1;                                             // PE 0 inherits it
  int input = -1;                                                // its stdin; below 0: /dev/null
  std::vector<std::pair<std::string, std::string>> environment;  // variables besides
  sigset_t signal_mask{};                                        // that the program starts with
};

// How a PE ended.
struct PeEnd {
  bool by_signal = false;
  int number = 0;  // the signal, or the exit status

  bool failed() const { return by_signal || number != 0; }
  // As a shell gives it: 128 + the signal.
  int exit_status() const { return by_signal ? 128 + number : number; }
  // "was killed by signal 9 (Killed)", "ended with status 3".
  std::string text() const;
};

class PeProcess {
 public:
  // Starts the program. An error whose system code is ENOENT: there is no such program; with
  // another one: it cannot be run.
  static Result<PeProcess> start(const PeStart& what, const Guard& guard);

  int rank() const { return rank_; }
  bool running() const { return !end_.has_value(); }
  const std::optional<PeEnd>& end() const { return end_; }

  // Sends `signal` to the process and to all that it has started.
  void kill(int signal) const;
  // Looks whether the process has ended. What it has left behind is ended then, too.
  void poll_end(const Guard& guard);

  UniqueFileDescriptor output;  // the read ends of its stdout and stderr
  UniqueFileDescriptor errors;

 private:
  PeProcess(int rank, pid_t pid) : rank_(rank), pid_(pid) {}

  int rank_;
  pid_t pid_;
  std::optional<PeEnd> end_;
};

}  // namespace gdakit::tools
