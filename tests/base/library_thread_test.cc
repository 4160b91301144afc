#include "core/base/library_thread.h"

#include <gtest/gtest.h>

namespace gdakit {
namespace {

sigset_t mask_of_this_thread() {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}

TEST(LibraryThread, TakesNoSignalOfTheProcess) {
  sigset_t mask;
  sigemptyset(&mask);
  start_library_thread([&mask] { mask = mask_of_this_thread(); }).join();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM, SIGRTMIN}) {
    EXPECT_EQ(sigismember(&mask, signal), 1) << signal;
  }
}

TEST(LibraryThread, TakesWhatItsOwnInstructionsCause) {
  sigset_t mask;
  sigfillset(&mask);
  start_library_thread([&mask] { mask = mask_of_this_thread(); }).join();
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
    EXPECT_EQ(sigismember(&mask, signal), 0) << signal;
  }
}

TEST(LibraryThread, LeavesTheStartersSignalsAsTheyWere) {
  start_library_thread([] {}).join();
  const sigset_t mask = mask_of_this_thread();
  EXPECT_EQ(sigismember(&mask, SIGUSR1), 0);
}

}  // namespace
}  // namespace gdakit
