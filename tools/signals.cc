#include "tools/signals.h"

#include <cerrno>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace gdakit::tools {

Result<Signals> take_over_signals() {
  ::signal(SIGCHLD, SIG_DFL);  // an inherited "ignore" would hide how the PEs end
  sigset_t taken;
  ::sigemptyset(&taken);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) ::sigaddset(&taken, signal);
  }
  sigset_t blocked = taken;
  ::sigaddset(&blocked, SIGPIPE);  // a write says so by its error
  Signals signals{};
  ::sigprocmask(SIG_BLOCK, &blocked, &signals.before);
  signals.descriptor.reset(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.descriptor) return Error::from_errno("signalfd", errno);
  return signals;
}

void let_signals_interrupt(const sigset_t& before) {
  sigset_t ending;
  ::sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (::sigismember(&before, signal) == 0) ::sigaddset(&ending, signal);
  }
  ::sigprocmask(SIG_UNBLOCK, &ending, nullptr);
}

std::string signal_text(int signal) {
  return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

}  // namespace gdakit::tools
