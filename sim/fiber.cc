#include "sim/fiber.h"

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include <boost/context/stack_context.hpp>

#include "core/base/assert.h"

namespace gdakit::sim {
namespace {

// Thrown by suspend() to unwind a cancelled body. It is no std::exception, so that a kernel's own
// handlers do not take it for theirs.
struct Cancelled {};

// Hands Boost the stack that the fiber was given.
struct GivenStack {
  Stack stack;

  boost::context::stack_context allocate() const {
    boost::context::stack_context context;
    context.sp = stack.top();
    context.size = stack.bytes;
    return context;
  }
  void deallocate(boost::context::stack_context&) const {}
};

}  // namespace

Fiber::Fiber(Stack stack, Body body, void* argument)
    : body_(body), argument_(argument), shadow_(stack.bottom, stack.bytes) {
  shadow_.before_create();
  context_ = boost::context::fiber(
      std::allocator_arg, GivenStack{stack},
      [this](boost::context::fiber&& owner) { return run(std::move(owner)); });
  shadow_.after_create();
}

Fiber::~Fiber() {
  if (!ended_) cancel();
}

void Fiber::cancel() {
  GDAKIT_ASSERT(!ended_);
  cancelled_ = true;
  if (started_) {
    resume();
    GDAKIT_ASSERT(ended_);
  } else {
    ended_ = true;
    abandon_context();
  }
}

void Fiber::suspend_cancelled() {
  // A body that swallowed the cancellation is told again; a destructor that waits is not, because
  // an exception must not leave it.
  if (std::uncaught_exceptions() == 0) throw Cancelled{};
}

boost::context::fiber Fiber::run(boost::context::fiber&& owner) {
  owner_ = std::move(owner);
  shadow_.on_entry();
  try {
    body_(argument_);
  } catch (const Cancelled&) {
    exception_ = nullptr;
  } catch (...) {
    exception_ = std::current_exception();
  }
  ended_ = true;
  shadow_.before_end();
  owner_ = std::move(owner_).resume();
  std::abort();  // nobody resumes a body that has ended
}

// Boost ends a context by an exception thrown on its stack. A body that ended or never began has
// nothing to unwind, and that detour would be a switch unknown to the sanitizers; so Boost's handle
// is moved to where no destructor finds it. All that Boost keeps lies on the fiber's stack.
void Fiber::abandon_context() {
  alignas(boost::context::fiber) std::byte nowhere[sizeof(boost::context::fiber)];
  new (nowhere) boost::context::fiber(std::move(context_));
}

}  // namespace gdakit::sim
