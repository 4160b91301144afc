// The terminal as stdin of PE 0.
//
// PE 0 is in a process group of its own, and the kernel stops such a process when it reads the
// terminal. So the launcher reads it and passes it on, no faster than PE 0 reads. A file or a pipe
// needs no relay.
#pragma once

#include <optional>
#include <poll.h>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace gdakit::tools {

class StdinRelay {
 public:
  // Does nothing where stdin is no terminal.
  static Result<StdinRelay> open();

  // What PE 0 gets as stdin.
  int input() const { return read_end_ ? read_end_.get() : 0; }
  // PE 0 has been started.
  void started() { read_end_.reset(); }

  // What poll() should wait for before progress(), if anything.
  std::optional<pollfd> awaited();
  // Passes on what the terminal has, if that is what poll() has found.
  void progress(const pollfd& found);

 private:
  UniqueFileDescriptor read_end_;
  UniqueFileDescriptor write_end_;
};

}  // namespace gdakit::tools
