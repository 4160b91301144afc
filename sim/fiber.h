// Fiber: a function with a stack of its own, which can stop in its midst and go on later.
//
//   owner                         fiber
//   resume() ------------------>  body(argument)
//            <------------------  suspend()
//   resume() ------------------>    ... goes on
//            <------------------  the body returns or throws: ended()
//
// A thin layer over boost::context::fiber that tells the sanitizers of each switch, carries a
// body's exception to the owner, and can end a body that waits in its midst, so that its
// destructors run.
//
// A fiber is resumed by one OS thread only. A body must not suspend inside a catch handler: the C++
// runtime keeps the exceptions in flight per OS thread, and the next fiber would find them.
#pragma once

#include <exception>
#include <utility>

#include <boost/context/fiber.hpp>

#include "core/base/assert.h"
#include "sim/sanitizer.h"
#include "sim/stack_pool.h"

namespace gdakit::sim {

class Fiber {
 public:
  using Body = void (*)(void* argument);

  // `stack` stays the caller's; it must outlive the fiber. Nothing runs before the first resume().
  Fiber(Stack stack, Body body, void* argument);
  // Cancels the body if it has not ended.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Owner: runs the body until it suspends or ends. The body must not have ended.
  void resume();

  // Owner: unwinds a body that waits in suspend(), as by an exception; one that never started is
  // dropped. A suspend() called by a destructor meanwhile returns at once.
  void cancel();

  // Body: gives control back to the owner, until the next resume().
  void suspend();

  bool ended() const { return ended_; }

  // What the body threw; null if it returned or was cancelled.
  std::exception_ptr exception() const { return exception_; }

 private:
  void suspend_cancelled();
  boost::context::fiber run(boost::context::fiber&& owner);
  void abandon_context();

  Body body_;
  void* argument_;
  bool started_ = false;
  bool cancelled_ = false;
  bool ended_ = false;
  std::exception_ptr exception_;
  StackShadow shadow_;
  boost::context::fiber owner_;    // while the body runs
  boost::context::fiber context_;  // while it does not
};

// The two are inline because a return after a switch is one that the processor predicts wrongly.

inline void Fiber::resume() {
  GDAKIT_ASSERT(!ended_);
  started_ = true;
  shadow_.before_resume();
  context_ = std::move(context_).resume();
  shadow_.after_resume();
  if (ended_) abandon_context();
}

inline void Fiber::suspend() {
  if (cancelled_) return suspend_cancelled();
  shadow_.before_suspend();
  owner_ = std::move(owner_).resume();
  shadow_.after_suspend();
  if (cancelled_) suspend_cancelled();
}

}  // namespace gdakit::sim
