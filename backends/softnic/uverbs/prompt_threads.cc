#include "backends/softnic/uverbs/prompt_threads.h"

#include <algorithm>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace gdakit::softnic::uverbs {
namespace {

constexpr unsigned long long kShortSlice = 100'000;  // ns, the least that there is
// How late a sleep may end, in ns.
constexpr unsigned long kLeastSlack = 1;
constexpr unsigned long kUsualSlack = 50'000;
constexpr std::uint64_t kBetweenLooksNs = 1'000'000;
constexpr std::uint64_t kBetweenCountsNs = 100'000'000;

using Attributes = PromptThreads::Attributes;

bool set(const Attributes& attributes) {
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

bool get(Attributes& attributes) {
  return ::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0;
}

Attributes ordinary_attributes(const Attributes& like) {
  Attributes ordinary = like;
  ordinary.policy = SCHED_OTHER;
  ordinary.priority = 0;
  ordinary.runtime = kShortSlice;
  return ordinary;
}

// Those of a program that is scheduled in its own way stay.
Attributes helped_attributes(const Attributes& like) {
  if (like.policy != SCHED_RR && like.policy != SCHED_OTHER) return like;
  Attributes helped = ordinary_attributes(like);
  helped.runtime = 0;  // slices as all have
  return helped;
}

std::uint64_t own_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

PromptThreads::PromptThreads() : slack_before_(::prctl(PR_GET_TIMERSLACK)) {
  ::prctl(PR_SET_TIMERSLACK, kLeastSlack);
  known_ = get(before_);
  // A program that is scheduled in its own way keeps it.
  if (!known_ || before_.policy != SCHED_OTHER) return;
  Attributes wanted = before_;
  wanted.policy = SCHED_RR;
  wanted.priority = 1;
  wanted.nice = 0;
  wanted.runtime = 0;
  if (set(wanted)) return;
  set(ordinary_attributes(before_));
}

PromptThreads::~PromptThreads() {
  if (known_) set(before_);
  ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_before_));
}

bool PromptBudget::passed(std::uint64_t clock_ns, std::uint64_t own_ns, double share) {
  left_ns_ += static_cast<std::int64_t>(static_cast<double>(clock_ns) * share);
  if (prompt_) left_ns_ -= static_cast<std::int64_t>(own_ns);
  left_ns_ = std::min(left_ns_, kMostNs);
  prompt_ = prompt_ ? left_ns_ > 0 : left_ns_ >= kEnoughNs;
  return prompt_;
}

// Where there are more threads than cores, half of the cores is for the programs. Of many threads
// most have nothing to do.
double prompt_share(unsigned threads, unsigned cores) {
  constexpr double kMost = 0.8;
  constexpr double kLeast = 0.1;
  const double cores_each = static_cast<double>(cores) / std::max(threads, 1u);
  return std::clamp(cores_each * (threads > cores ? 0.5 : kMost), kLeast, kMost);
}

void PromptShare::begin(std::uint64_t now_ns) {
  is_known_ = true;
  is_real_time_ = get(prompt_) && prompt_.policy == SCHED_RR;
  ordinary_ = ordinary_attributes(prompt_);
  // Of a thread in real time the kernel does not say it.
  ordinary_.nice = ::getpriority(PRIO_PROCESS, 0);
  helped_attributes_ = helped_attributes(prompt_);
  helped_attributes_.nice = ordinary_.nice;
  looked_ns_ = now_ns;
  own_ns_ = own_time_ns();
  // Those that come later are counted when this one has used up what it may.
  share_ = prompt_share(1, cores_);
}

void PromptShare::count_threads(std::uint64_t now_ns) {
  if (now_ns - counted_ns_ < kBetweenCountsNs) return;
  counted_ns_ = now_ns;
  share_ = prompt_share(members_.count(), cores_);
}

void PromptShare::change_to(bool helped, std::uint64_t now_ns) {
  is_helped_ = helped;
  set(helped ? helped_attributes_ : prompt_);
  ::prctl(PR_SET_TIMERSLACK, helped ? kUsualSlack : kLeastSlack);
  is_prompt_ = true;
  looked_ns_ = now_ns;
  own_ns_ = own_time_ns();
}

void PromptShare::look(std::uint64_t now_ns) {
  if (!is_known_) begin(now_ns);
  const bool helped = helped_.load(std::memory_order_relaxed);
  if (helped != is_helped_) change_to(helped, now_ns);
  if (is_helped_ || !is_real_time_ || now_ns - looked_ns_ < kBetweenLooksNs) return;
  const std::uint64_t own_ns = own_time_ns();
  const bool prompt = budget_.passed(now_ns - looked_ns_, own_ns - own_ns_, share_);
  looked_ns_ = now_ns;
  own_ns_ = own_ns;
  if (prompt == is_prompt_) return;
  is_prompt_ = prompt;
  set(prompt ? prompt_ : ordinary_);
  if (!prompt) count_threads(now_ns);
}

}  // namespace gdakit::softnic::uverbs
