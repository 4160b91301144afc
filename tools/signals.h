// The signals of the launcher: those of its PEs' ends, and those that it forwards.
#pragma once

#include <signal.h>
#include <string>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace gdakit::tools {

struct Signals {
  UniqueFileDescriptor descriptor;  // a signalfd
  sigset_t before;                  // the mask that the programs start with
};

// From now on they are read from a descriptor instead of interrupting. What the launcher was told
// to ignore (nohup) stays ignored. To be called while the process has one thread: a later one, as
// CUDA makes them, inherits the mask, but one that is there already would get the signals and drop
// them.
Result<Signals> take_over_signals();

// The signals that a user ends a program with interrupt the caller's thread again, unless they were
// blocked before take_over_signals().
void let_signals_interrupt(const sigset_t& before);

// "signal 2 (Interrupt)".
std::string signal_text(int signal);

}  // namespace gdakit::tools
