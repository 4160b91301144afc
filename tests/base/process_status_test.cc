// What can be told of another process of this host.
#include "core/base/process_status.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace gdakit {
namespace {

TEST(ProcessStatus, TellsAProcessThatIsStoppedFromOneThatWaits) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  ASSERT_GT(child, 0);
  const auto waiting = process_status(child);
  ASSERT_TRUE(waiting);
  EXPECT_FALSE(waiting->stopped()) << waiting->state;
  EXPECT_GE(waiting->started, process_status(::getpid())->started);
  ::kill(child, SIGSTOP);
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, WUNTRACED), child);
  const auto stopped = process_status(child);
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->stopped()) << stopped->state;
  EXPECT_EQ(stopped->started, waiting->started);
  ::kill(child, SIGCONT);
  ASSERT_EQ(::waitpid(child, &how, WCONTINUED), child);
  EXPECT_FALSE(process_status(child)->stopped());
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_FALSE(process_status(child));
}

TEST(RunningProcess, AsksAnewWhenItsAnswerIsOld) {
  constexpr std::uint64_t kOldest = RunningProcess::kOldest;
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  ASSERT_GT(child, 0);
  RunningProcess process;
  EXPECT_TRUE(process.runs(child, 5));
  ::kill(child, SIGKILL);
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(process.runs(child, 5 + kOldest - 1));
  EXPECT_FALSE(process.runs(child, 5 + kOldest));
  EXPECT_FALSE(process.runs(child, 6 + kOldest));
}

TEST(RunningProcess, KeepsNoAnswerForAnother) {
  RunningProcess process;
  EXPECT_TRUE(process.runs(::getpid(), 5));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_GT(child, 0);
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_FALSE(process.runs(child, 6));
  EXPECT_TRUE(process.runs(::getpid(), 7));
}

}  // namespace
}  // namespace gdakit
