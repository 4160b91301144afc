// Threads that get a core soon after they wake, also where programs that poll have all of them.
//
// A thread in real time takes a core from all others for as long as it works. Those of many
// processes together, or one that never comes to rest, would leave the programs nothing but what
// the system keeps back from real time: 50 ms of each second. So each has a share, and what goes
// beyond it, it does as an ordinary thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "backends/softnic/engine/nic_thread.h"
#include "backends/softnic/uverbs/fabric.h"

namespace gdakit::softnic::uverbs {

// While it lives, threads that the caller starts are scheduled so, as far as the process may: in
// real time (SCHED_RR), or else in short slices (Linux 6.12 and later), for which the system takes
// a core from a thread that has a long one. They wake from sleeps as exactly as the system can.
class PromptThreads {
 public:
  // struct sched_attr of sched(7), which not every libc declares.
  struct Attributes {
    unsigned size = sizeof(Attributes);
    unsigned policy = 0;
    unsigned long long flags = 0;
    int nice = 0;
    unsigned priority = 0;
    unsigned long long runtime = 0;
    unsigned long long deadline = 0;
    unsigned long long period = 0;
  };

  PromptThreads();
  PromptThreads(const PromptThreads&) = delete;
  PromptThreads& operator=(const PromptThreads&) = delete;
  ~PromptThreads();

 private:
  Attributes before_;
  bool known_ = false;  // how the caller was scheduled
  int slack_before_ = 0;
};

// How long a thread may yet be prompt. Time of its own is taken from the budget while it is, and a
// share of all time is added.
class PromptBudget {
 public:
  // What has passed since the last call: by the clock, and of the thread's own time. Returns
  // whether the thread is to be prompt from now on.
  bool passed(std::uint64_t clock_ns, std::uint64_t own_ns, double share);

  static constexpr std::int64_t kMostNs = 4'000'000;
  static constexpr std::int64_t kEnoughNs = 2'000'000;  // to be prompt again

 private:
  std::int64_t left_ns_ = kMostNs;
  bool prompt_ = true;
};

// The share of one of `threads` that may be prompt at a time.
double prompt_share(unsigned threads, unsigned cores);

// Keeps the thread that calls look() to its share, if it is scheduled in real time.
class PromptShare final : public ThreadWatch {
 public:
  void look(std::uint64_t now_ns) override;
  // Others do the thread's work: from its next look on it is an ordinary thread, or again as it
  // was. From any thread.
  void set_helped(bool helped) { helped_.store(helped, std::memory_order_relaxed); }

 private:
  void begin(std::uint64_t now_ns);
  void change_to(bool helped, std::uint64_t now_ns);
  void count_threads(std::uint64_t now_ns);

  // Found out by who makes it: the thread itself opens no file, which would for a moment have a
  // number that the program counts on.
  MemberCounter members_;
  const unsigned cores_ = std::thread::hardware_concurrency();
  PromptThreads::Attributes prompt_, ordinary_, helped_attributes_;
  PromptBudget budget_;
  double share_ = 0;
  std::uint64_t looked_ns_ = 0;
  std::uint64_t own_ns_ = 0;
  std::uint64_t counted_ns_ = 0;
  bool is_known_ = false;
  bool is_real_time_ = false;
  bool is_prompt_ = true;
  bool is_helped_ = false;
  std::atomic<bool> helped_{false};  // what it is to be
};

}  // namespace gdakit::softnic::uverbs
