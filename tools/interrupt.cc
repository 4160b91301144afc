#include "tools/interrupt.h"

#include <signal.h>

namespace gdakit::tools {
namespace {

std::atomic<bool> requested = false;  // a signal handler reaches nothing else

void request(int) { requested = true; }

}  // namespace

const std::atomic<bool>& interrupt_request() {
  struct sigaction before {};
  ::sigaction(SIGINT, nullptr, &before);
  if (before.sa_handler == SIG_DFL) {
    struct sigaction action {};
    action.sa_handler = request;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGINT, &action, nullptr);
  }
  return requested;
}

}  // namespace gdakit::tools
