// The terminal as stdin of PE 0.
//
// PE 0 is in a process group of its own, and the kernel stops such a process when it reads the
// terminal. So the launcher reads it and passes it on. A file or a pipe needs no relay.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/host/tcp_listener.h"

namespace gdakit::tools {

class StdinRelay {
 public:
  // Does nothing where stdin is no terminal.
  static Result<StdinRelay> open();

  // What PE 0 gets as stdin.
  int input() const { return read_end_ ? read_end_.get() : 0; }
  // PE 0 has been started.
  void started() { read_end_.reset(); }

  // For poll(): whether the terminal should be read now. Only a foreground process may.
  bool wants_input() const;
  // Passes on what the terminal has.
  void relay();

 private:
  UniqueFileDescriptor read_end_;
  UniqueFileDescriptor write_end_;
};

}  // namespace gdakit::tools
