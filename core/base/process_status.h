// Other processes of this host.
#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>

namespace gdakit {

// Whether the process still runs. One that has ended and whose parent has not looked yet does not.
bool process_runs(pid_t pid);

struct ProcessStatus {
  char state = 0;             // as proc(5) has it: R, S, D, T, t, Z, ...
  std::uint64_t started = 0;  // clock ticks after the boot

  // By a signal or a debugger.
  bool stopped() const { return state == 'T' || state == 't'; }
};

// None: there is no such process, or it cannot be seen from here.
std::optional<ProcessStatus> process_status(pid_t pid);

}  // namespace gdakit
