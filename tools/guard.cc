#include "tools/guard.h"

#include <cerrno>
#include <fcntl.h>
#include <set>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace gdakit::tools {
namespace {

// Whole writes of a pid are atomic, because they are shorter than PIPE_BUF.
bool write_pid(int pipe, pid_t pid) {
  ssize_t written = 0;
  do {
    written = ::write(pipe, &pid, sizeof(pid));
  } while (written < 0 && errno == EINTR);
  return written == sizeof(pid);
}

// Only the pipe stays open: a guard that held the launcher's stdout would keep `gdakit run | less`
// waiting, and one that held a PE's would keep the launcher waiting.
void keep_only(int pipe) {
  ::dup2(pipe, STDIN_FILENO);
  if (::close_range(1, ~0U, 0) == 0) return;
  for (int descriptor = 1; descriptor < 1024; ++descriptor) ::close(descriptor);
}

[[noreturn]] void run_guard(int pipe) {
  ::setsid();  // the terminal's signals, and a kill of the launcher's group, are not for the guard
  ::prctl(PR_SET_NAME, "gdakit-guard");
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  keep_only(pipe);
  std::set<pid_t> groups;
  for (;;) {
    pid_t pid = 0;
    const ssize_t count = ::read(STDIN_FILENO, &pid, sizeof(pid));
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof(pid)) break;  // the launcher is gone
    if (pid == 0) ::_exit(0);
    if (pid > 0) groups.insert(pid);
    if (pid < 0) groups.erase(-pid);
  }
  for (const pid_t group : groups) ::killpg(group, SIGKILL);
  ::_exit(0);
}

}  // namespace

Result<Guard> Guard::start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno("pipe to the job's guard", errno);
  const UniqueFileDescriptor read_end(ends[0]);
  UniqueFileDescriptor write_end(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno("fork of the job's guard", errno);
  if (pid == 0) run_guard(read_end.get());
  return Guard(pid, std::move(write_end));
}

Guard::~Guard() {
  if (!pipe_) return;  // moved from
  write_pid(pipe_.get(), 0);
  pipe_.reset();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool Guard::watch(pid_t pid) const { return write_pid(pipe_.get(), pid); }

void Guard::forget(pid_t pid) const { write_pid(pipe_.get(), -pid); }

}  // namespace gdakit::tools
