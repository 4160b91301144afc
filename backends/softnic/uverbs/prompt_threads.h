// Threads that get a core soon after they wake, also where programs that poll have all of them.
#pragma once

namespace gdakit::softnic::uverbs {

// While it lives, threads that the caller starts are scheduled so, as far as the process may: in
// real time (SCHED_RR), or else in short slices (Linux 6.12 and later), for which the system takes
// a core from a thread that has a long one. They wake from sleeps as exactly as the system can.
class PromptThreads {
 public:
  PromptThreads();
  PromptThreads(const PromptThreads&) = delete;
  PromptThreads& operator=(const PromptThreads&) = delete;
  ~PromptThreads();

 private:
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
  static bool set(const Attributes& attributes);

  Attributes before_;
  bool known_ = false;  // how the caller was scheduled
  int slack_before_ = 0;
};

}  // namespace gdakit::softnic::uverbs
