// Threads of gdakit's own, beside the program's.
//
//   std::thread thread = start_library_thread([this] { run(); });
//
// Such a thread takes none of the signals that come to the process: a program that blocks a signal
// in its own threads and waits for it gets it, and a program's handler never runs on a thread that
// it does not know. Only what a thread's own instruction causes (SIGSEGV, SIGFPE, ...) comes to it.
#pragma once

#include <csignal>
#include <pthread.h>
#include <thread>
#include <utility>

namespace gdakit {

// Blocks the process's signals for the calling thread while it lives. A thread inherits the mask of
// the one that starts it, so that there is no moment at which it takes one.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
      sigdelset(&all, own);
    }
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

template <class Body>
std::thread start_library_thread(Body&& body) {
  const SignalsBlocked blocked;
  return std::thread(std::forward<Body>(body));
}

}  // namespace gdakit
