// A crash of an emulated thread in words: what the system says of it names the process only.
//
//   gdakit emulator: PE 1, block 3, thread 17: stack overflow: ...
//   gdakit emulator: PE 1, block 3, thread 17: wild pointer: it touched address 0x1234, ...
//
// The sentence is all that is added. Behind it the signal takes the course that it would have taken
// without gdakit: the handler puts back what the program had and returns, and the instruction
// faults again. So a core dump and a debugger show it where it happened, a handler of the program's
// own gets it, and so does AddressSanitizer's, which adds its report. A fault of a thread that is
// not emulated goes there without a sentence.
#pragma once

#include <csignal>

namespace gdakit::sim {

// Watches for crashes of the emulated threads that the calling OS thread runs, until its end on the
// same OS thread. The program's handlers of SIGSEGV and SIGBUS are put back when the last one of
// the process ends.
class CrashWatch {
 public:
  CrashWatch();
  ~CrashWatch();
  CrashWatch(const CrashWatch&) = delete;
  CrashWatch& operator=(const CrashWatch&) = delete;

 private:
  stack_t before_{};  // the OS thread's stack for signals
  bool lent_;         // it has one of gdakit's instead
};

}  // namespace gdakit::sim
