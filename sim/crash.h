// A crash of an emulated thread in words: what the system says of it names the process only.
//
//   gdakit emulator: PE 1, block 3, thread 17: stack overflow: ...
//   gdakit emulator: PE 1, block 3, thread 17: wild pointer: it touched address 0x1234, ...
//   gdakit explorer: halo, token m-1-2a-k7: PE 1, block 0, thread 3: wild pointer: ...
//
// The sentence is all that is added. Behind it the signal takes the course that it would have taken
// without gdakit: the handler puts back what the program had and returns, and the instruction
// faults again. So a core dump and a debugger show it where it happened, a handler of the program's
// own gets it, and so does AddressSanitizer's, which adds its report. A fault of a thread that is
// not emulated goes there without a sentence.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <utility>

#include "sim/signal_line.h"

namespace gdakit::sim {

// Watches for crashes of the emulated threads that the calling OS thread runs, until its end on the
// same OS thread. The program's handlers of SIGSEGV and SIGBUS are put back when the last one of
// the process ends.
class CrashWatch {
 public:
  explicit CrashWatch(std::string origin = "gdakit emulator");  // sentences begin with it
  ~CrashWatch();
  CrashWatch(const CrashWatch&) = delete;
  CrashWatch& operator=(const CrashWatch&) = delete;

  // From now on. Not while an emulated thread runs.
  void set_origin(std::string origin) { origin_ = std::move(origin); }
  const std::string& origin() const { return origin_; }

 private:
  std::string origin_;
  const CrashWatch* outer_;  // of the same OS thread
  stack_t before_{};         // the OS thread's stack for signals
  bool lent_;                // it has one of gdakit's instead
};

// Whoever keeps addresses that no thread may touch tells what it means that one did: the teller
// appends the end of the sentence, or returns false for an address that it does not know. It is
// called by a signal handler. There is one teller in a process.
using AddressTeller = bool (*)(std::uint64_t address, SignalLine& line);
void explain_addresses_by(AddressTeller teller);

// Whether a crash of this process has had its sentence: a handler that comes behind adds none.
bool has_told_crash();

}  // namespace gdakit::sim
