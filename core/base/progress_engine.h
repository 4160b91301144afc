// ProgressEngine: work that a thread which waits for its outcome may do itself, rather than wait
// until the thread whose work it is has a core.
#pragma once

namespace gdakit {

class ProgressEngine {
 public:
  // Does a small piece, or nothing while others are at it. True if anything has changed. Any
  // thread, any number at a time.
  virtual bool progress() = 0;

 protected:
  ~ProgressEngine() = default;
};

}  // namespace gdakit
