// Other processes of this host.
#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>

namespace gdakit {

// Whether the process still runs. One that has ended and whose parent has not looked yet does not.
bool process_runs(pid_t pid);

// process_runs for a caller that asks again and again: answers about one process are as old as
// kOldest at most, and others cost no system call.
class RunningProcess {
 public:
  static constexpr std::uint64_t kOldest = 10'000'000;  // ns

  // `now_ns` is of any clock that does not go back.
  bool runs(pid_t pid, std::uint64_t now_ns) {
    if (pid != pid_ || now_ns - asked_ns_ >= kOldest) {
      runs_ = process_runs(pid);
      pid_ = pid;
      asked_ns_ = now_ns;
    }
    return runs_;
  }

 private:
  pid_t pid_ = 0;
  std::uint64_t asked_ns_ = 0;
  bool runs_ = false;
};

struct ProcessStatus {
  char state = 0;             // as proc(5) has it: R, S, D, T, t, Z, ...
  std::uint64_t started = 0;  // clock ticks after the boot

  // By a signal or a debugger.
  bool stopped() const { return state == 'T' || state == 't'; }
};

// None: there is no such process, or it cannot be seen from here.
std::optional<ProcessStatus> process_status(pid_t pid);

}  // namespace gdakit
