#include "tools/interrupt.h"

#include <initializer_list>
#include <signal.h>

namespace gdakit::tools {
namespace {

std::atomic<bool> requested = false;  // a signal handler reaches nothing else

std::atomic<int> end_requested = 0;

void request(int) { requested = true; }

void request_end(int signal) {
  end_requested = signal;
  requested = true;
}

// Unless it is ignored.
void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction before {};
  ::sigaction(signal, nullptr, &before);
  if (before.sa_handler != SIG_DFL) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

const std::atomic<bool>& interrupt_request() {
  handle(SIGINT, request, static_cast<int>(SA_RESETHAND));
  return requested;
}

const std::atomic<bool>& interrupt_or_end_request() {
  for (const int signal : {SIGTERM, SIGHUP, SIGQUIT}) handle(signal, request_end, 0);
  return interrupt_request();
}

int end_request() { return end_requested; }

}  // namespace gdakit::tools
