#include "backends/softnic/uverbs/prompt_threads.h"

#include <sched.h>
#include <sys/prctl.h>
#include <thread>

#include <gtest/gtest.h>

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// How much of a second a thread is prompt, and of its own work at that, if it works for `load` of
// the time.
struct Second {
  double prompt = 0;
  double prompt_work = 0;
};

Second second_of(double load, double share) {
  PromptBudget budget;
  Second second;
  bool prompt = true;
  for (int ms = 0; ms < 1000; ++ms) {
    const auto own = static_cast<std::uint64_t>(load * static_cast<double>(kMs));
    second.prompt += prompt ? 0.001 : 0;
    second.prompt_work += prompt ? load * 0.001 : 0;
    prompt = budget.passed(kMs, own, share);
  }
  return second;
}

TEST(PromptBudget, AThreadWithinItsShareIsAlwaysPrompt) {
  EXPECT_DOUBLE_EQ(second_of(0.3, 0.4).prompt, 1);
  EXPECT_DOUBLE_EQ(second_of(0, 0.1).prompt, 1);
}

TEST(PromptBudget, AThreadThatNeverRestsWorksPromptlyForItsShare) {
  EXPECT_NEAR(second_of(1, 0.8).prompt_work, 0.8, 0.05);
  EXPECT_NEAR(second_of(1, 0.125).prompt_work, 0.125, 0.02);
  EXPECT_NEAR(second_of(0.5, 0.125).prompt_work, 0.125, 0.02);
}

TEST(PromptBudget, APauseIsNotSavedForLater) {
  PromptBudget budget;
  EXPECT_TRUE(budget.passed(100'000 * kMs, 0, 0.5));
  EXPECT_TRUE(budget.passed(kMs, kMs, 0.5));
  EXPECT_FALSE(budget.passed(8 * kMs, 8 * kMs, 0.5));
}

TEST(PromptShare, LeavesCoresToThePrograms) {
  EXPECT_DOUBLE_EQ(prompt_share(2, 2), 0.8);
  EXPECT_DOUBLE_EQ(prompt_share(2, 64), 0.8);
  EXPECT_DOUBLE_EQ(prompt_share(8, 2), 0.125);
  EXPECT_DOUBLE_EQ(prompt_share(0, 2), 0.8);
  EXPECT_DOUBLE_EQ(prompt_share(64, 2), 0.1);
}

// What the thread that asks is like.
struct Schedule {
  int policy = ::sched_getscheduler(0);
  int slack_ns = ::prctl(PR_GET_TIMERSLACK);
  bool operator==(const Schedule&) const = default;
};

TEST(PromptShare, AThreadThatIsHelpedIsAnOrdinaryOne) {
  if (::sched_getscheduler(0) != SCHED_OTHER) GTEST_SKIP() << "this program is scheduled otherwise";
  PromptShare share;
  Schedule before, helped, after;
  const auto look = [&share](std::uint64_t now_ns) {
    share.look(now_ns);
    return Schedule();
  };
  const PromptThreads prompt;
  std::thread([&] {
    before = look(1);
    share.set_helped(true);
    helped = look(2);
    share.set_helped(false);
    after = look(3);
  }).join();
  EXPECT_LE(before.slack_ns, 1) << "it has none in real time";
  EXPECT_EQ(helped.policy, SCHED_OTHER);
  EXPECT_EQ(helped.slack_ns, 50'000);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
