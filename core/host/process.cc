#include "core/host/process.h"

#include <cerrno>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/file_descriptor.h"

namespace gdakit {

bool process_runs(pid_t pid) {
  const UniqueFileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  // A kernel or a sandbox without that call: a zombie then counts as running.
  if (!process) return errno != ESRCH && (::kill(pid, 0) == 0 || errno != ESRCH);
  pollfd ended{process.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 0;
}

}  // namespace gdakit
