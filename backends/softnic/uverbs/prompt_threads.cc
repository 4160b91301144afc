#include "backends/softnic/uverbs/prompt_threads.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gdakit::softnic::uverbs {
namespace {

constexpr unsigned long long kShortSlice = 100'000;  // ns, the least that there is

}  // namespace

bool PromptThreads::set(const Attributes& attributes) {
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

PromptThreads::PromptThreads() : slack_before_(::prctl(PR_GET_TIMERSLACK)) {
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // ns
  known_ = ::syscall(SYS_sched_getattr, 0, &before_, sizeof before_, 0) == 0;
  // A program that is scheduled in its own way keeps it.
  if (!known_ || before_.policy != SCHED_OTHER) return;
  Attributes wanted = before_;
  wanted.policy = SCHED_RR;
  wanted.priority = 1;
  wanted.nice = 0;
  wanted.runtime = 0;
  if (set(wanted)) return;
  wanted = before_;
  wanted.runtime = kShortSlice;
  set(wanted);
}

PromptThreads::~PromptThreads() {
  if (known_) set(before_);
  ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_before_));
}

}  // namespace gdakit::softnic::uverbs
