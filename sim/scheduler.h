// Scheduler: who runs next. The group operations (warp.h, block.h) and the machines know no more of
// it than this, so the native round-robin workers and a controlled scheduler can take each other's
// place.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace gdakit::sim {

struct Thread;

// Why a thread gives up its turn.
enum class Reason : std::uint8_t {
  spin,     // it polls memory; it can go on at any time, and is idle meanwhile
  gather,   // it waits one turn for others to come; it can go on at any time
  blocked,  // it cannot go on before wake()
};

class Scheduler {
 public:
  // Called by `thread` itself. Returns when it is its turn again; for Reason::blocked not before
  // wake(thread). May throw, to end a thread whose launch has failed.
  virtual void yield(Thread& thread, Reason reason) = 0;

  // Makes a blocked thread ready. Called by another thread of the same block.
  virtual void wake(Thread& thread) = 0;

  // The kernel broke a rule of the group operations; `what` is a sentence. Does not return:
  // report() throws, or the program ends.
  [[noreturn]] void fail(const std::string& what) {
    report(what);
    std::abort();
  }

 protected:
  ~Scheduler() = default;

  virtual void report(const std::string& what) = 0;
};

}  // namespace gdakit::sim
