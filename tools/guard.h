// The guard: a small process beside the launcher that ends the PEs should the launcher be killed.
//
// The kernel kills a PE when its launcher dies (PR_SET_PDEATHSIG), but not what the PE has started:
// a shell's command would live on. The guard knows the process group of every PE and holds one end
// of a pipe; when the other end closes without a farewell, it kills the groups.
//
//   launcher --pid, -pid, ... 0--> guard        a PE began, a PE ended, the job is over
//   PE       --its own pid------->              before it runs the program, so that none is missed
#pragma once

#include <sys/types.h>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace gdakit::tools {

class Guard {
 public:
  // Starts the guard. To be called before the launcher opens anything that the guard should not
  // hold.
  static Result<Guard> start();

  Guard(Guard&&) = default;
  // Tells the guard that the job is over, and waits for its end.
  ~Guard();

  // In a PE: from now on, the guard ends process group `pid` if the launcher dies. False if it
  // cannot.
  bool watch(pid_t pid) const;
  // Process group `pid` has ended.
  void forget(pid_t pid) const;

 private:
  Guard(pid_t process, UniqueFileDescriptor pipe) : process_(process), pipe_(std::move(pipe)) {}

  pid_t process_;
  UniqueFileDescriptor pipe_;
};

}  // namespace gdakit::tools
