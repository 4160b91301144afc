// `gdakit run`: what a user sees of it.
#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <signal.h>
#include <sstream>
#include <stdlib.h>
#include <string>
#include <termios.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/launched.h"
#include "tests/job/variable.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

using Clock = std::chrono::steady_clock;

// `gdakit run` with what a shell makes of the words: redirections.
std::vector<std::string> run_by_shell(const std::string& words) {
  return {"sh", "-c", "exec " GDAKIT_COMMAND " run " + words};
}

TEST(RunOutput, EveryLineIsPrefixedByItsPe) {
  const Outcome job = gdakit(shell_job(3, "echo first; echo second $GDAKIT_RANK"));
  EXPECT_EQ(job.status, 0);
  EXPECT_EQ(job.errors, "");
  EXPECT_THAT(lines_of(job.output),
              UnorderedElementsAre("[0] first", "[0] second 0", "[1] first", "[1] second 1",
                                   "[2] first", "[2] second 2"));
}

TEST(RunOutput, StdoutAndStderrStayApart) {
  const Outcome job = gdakit(shell_job(2, "echo out; echo err >&2"));
  EXPECT_THAT(lines_of(job.output), UnorderedElementsAre("[0] out", "[1] out"));
  EXPECT_THAT(lines_of(job.errors), UnorderedElementsAre("[0] err", "[1] err"));
}

TEST(RunOutput, ALineThatIsNotEndedIsPrintedAtTheEnd) {
  EXPECT_THAT(lines_of(gdakit(shell_job(2, "printf 'no break'")).output),
              UnorderedElementsAre("[0] no break", "[1] no break"));
}

TEST(RunOutput, PartsOfALineAreNotMixedWithOtherPes) {
  const Outcome job = gdakit(shell_job(
      4, "for i in 1 2 3 4 5; do printf a; sleep 0.02; printf b; sleep 0.02; echo c; done"));
  std::map<std::string, int> count;
  for (const std::string& line : lines_of(job.output)) ++count[line];
  EXPECT_EQ(count, (std::map<std::string, int>{
                       {"[0] abc", 5}, {"[1] abc", 5}, {"[2] abc", 5}, {"[3] abc", 5}}));
}

TEST(RunOutput, NoPrefixLeavesLinesAsTheyAre) {
  EXPECT_EQ(gdakit({"run", "-n", "2", "--no-prefix", "echo", "x"}).output, "x\nx\n");
}

TEST(RunOutput, NoPrefixAddsNoLineBreak) {
  for (const int size : {1, 2}) {
    const std::string pes = "-n " + std::to_string(size);
    const Outcome few = command(run_by_shell(pes + " --no-prefix printf abc"));
    EXPECT_EQ(few.output, size == 1 ? "abc" : "abcabc");
    const Outcome many = command(run_by_shell(pes + " --no-prefix head -c 3000000 /dev/zero"));
    EXPECT_EQ(many.output.size(), size * 3000000u);
    EXPECT_EQ(many.output.find('\n'), std::string::npos);
  }
}

// stdout and stderr are one pipe, which shows when the begun line has left.
TEST(RunOutput, NoPrefixHoldsABegunLineBackOnlyIfAnotherPeCouldPrintIntoIt) {
  const std::string script =
      " --no-prefix sh -c '[ $GDAKIT_RANK = 1 ] && exit; printf a; sleep 0.3; echo b >&2;"
      "sleep 0.3; echo c' 2>&1";
  EXPECT_EQ(command(run_by_shell("-n 1" + script)).output, "ab\nc\n");
  EXPECT_EQ(command(run_by_shell("-n 2" + script)).output, "b\nac\n");
}

TEST(RunOutput, MuchOutputArrivesWhole) {
  const Outcome job = gdakit(shell_job(3, "seq 1 200000; seq 1 100000 >&2"));
  EXPECT_EQ(job.status, 0);
  std::map<char, int> next;
  for (const std::string& line : lines_of(job.output)) {
    ASSERT_GT(line.size(), 4u);
    ASSERT_EQ(line.substr(4), std::to_string(++next[line[1]]));
  }
  EXPECT_EQ(next, (std::map<char, int>{{'0', 200000}, {'1', 200000}, {'2', 200000}}));
  EXPECT_EQ(lines_of(job.errors).size(), 300000u);
}

TEST(RunOutput, AnEndlessLineIsCut) {
  const Outcome job = gdakit(shell_job(1, "head -c 3000000 /dev/zero | tr '\\0' x"));
  std::size_t total = 0;
  for (const std::string& line : lines_of(job.output)) {
    EXPECT_THAT(line, StartsWith("[0] x"));
    EXPECT_LE(line.size(), (std::size_t{1} << 20) + 4);
    total += line.size() - 4;
  }
  EXPECT_EQ(total, 3000000u);
}

TEST(RunOutput, TheJobEndsWhenNobodyReads) {
  Launched job({"run", "-n", "2", "yes"});
  EXPECT_THAT(job.line(), HasSubstr("] y"));
  job.close_output();
  EXPECT_EQ(job.wait().status, 128 + SIGPIPE);
  EXPECT_EQ(job.wait().errors, "");
}

TEST(RunOutput, TheJobFailsWhenNobodyReadsTheLastOfIt) {
  Launched job(shell_job(1, "sleep 0.3; echo hi"));
  job.close_output();
  EXPECT_EQ(job.wait().status, 128 + SIGPIPE);
  EXPECT_EQ(job.wait().errors, "");
}

TEST(RunOutput, OutputThatCannotBeWrittenEndsTheJobWithASentence) {
  for (const char* program : {"echo hi", "yes"}) {
    const Outcome job = command(run_by_shell("-n 2 " + std::string(program) + " >/dev/full"));
    EXPECT_EQ(job.status, 1);
    EXPECT_EQ(job.errors, "gdakit run: stdout cannot be written: No space left on device\n");
  }
}

TEST(RunOutput, ErrorsThatCannotBeWrittenEndTheJobWithoutAWord) {
  const Outcome job = command(run_by_shell("-n 2 sh -c 'echo hi >&2; exec sleep 100' 2>/dev/full"));
  EXPECT_EQ(job.status, 1);
  EXPECT_EQ(job.output, "");
}

TEST(RunInput, Pe0HasStdinAndTheOthersHaveNone) {
  const Outcome job = gdakit(shell_job(3, "cat; echo end"), "text\n");
  EXPECT_THAT(lines_of(job.output),
              UnorderedElementsAre("[0] text", "[0] end", "[1] end", "[2] end"));
}

// A terminal's end at which a user would type, without echo. Its other end's path is empty where
// there are no terminals.
struct Terminal {
  UniqueFileDescriptor keyboard{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
  std::string path;

  Terminal() {
    termios settings{};
    if (!keyboard || ::grantpt(keyboard.get()) != 0 || ::unlockpt(keyboard.get()) != 0) return;
    ::tcgetattr(keyboard.get(), &settings);
    settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    if (::tcsetattr(keyboard.get(), TCSANOW, &settings) == 0) path = ::ptsname(keyboard.get());
  }
  bool type(const std::string& text) const {
    return ::write(keyboard.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
};

TEST(RunInput, ATerminalLosesNothingWhilePe0DoesNotRead) {
  const Terminal terminal;
  if (terminal.path.empty()) GTEST_SKIP() << "no terminals here";
  // The terminal becomes that of a session whose foreground process is the launcher.
  Launched job({"-c", "exec setsid --ctty " GDAKIT_COMMAND
                      " run -n 2 sh -c '[ $GDAKIT_RANK = 0 ] && echo ready && sleep 1; wc -c' <" +
                          terminal.path},
               "", false, "sh");
  // PE 1, which has nothing to read, may be through before PE 0 begins.
  std::vector<std::string> before;
  do {
    before.push_back(job.line());
  } while (before.back() != "[0] ready" && before.size() < 2);
  ASSERT_EQ(before.back(), "[0] ready");
  before.pop_back();
  for (int i = 0; i < 4000; ++i) ASSERT_TRUE(terminal.type(std::string(49, 'x') + '\n'));
  ASSERT_TRUE(terminal.type("\x04"));  // Ctrl-D
  EXPECT_EQ(job.wait().status, 0);
  std::vector<std::string> counts = lines_of(job.wait().output);
  counts.insert(counts.end(), before.begin(), before.end());
  EXPECT_THAT(counts, UnorderedElementsAre("[0] 200000", "[1] 0"));
}

TEST(RunStatus, TheFirstFailureEndsTheJobWithItsStatus) {
  const auto begin = Clock::now();
  const Outcome job = gdakit(shell_job(3, "[ $GDAKIT_RANK = 1 ] && exit 7; exec sleep 100"));
  EXPECT_EQ(job.status, 7);
  EXPECT_EQ(job.errors, "gdakit run: PE 1 ended with status 7; ending the other PEs\n");
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST(RunStatus, AfterTheFirstFailureTheOthersSayWhatTheyKnow) {
  const Outcome job =
      gdakit(shell_job(2, "[ $GDAKIT_RANK = 1 ] && exit 7; sleep 0.5; echo because; exit 1"));
  EXPECT_EQ(job.status, 7);
  EXPECT_EQ(job.output, "[0] because\n");
  EXPECT_EQ(job.errors, "gdakit run: PE 1 ended with status 7\n");
}

// What core/host/launch/exit_pipe.h writes, by a shell.
TEST(RunStatus, APeMayEndTheJobWithAnyStatus) {
  for (const int status : {0, 9}) {
    const auto begin = Clock::now();
    const std::string asks = "echo 1 " + std::to_string(status) + " >$GDAKIT_EXIT_PIPE";
    const Outcome job = gdakit(shell_job(
        3, "[ $GDAKIT_RANK = 1 ] && { " + asks + "; sleep 0.5; echo bye; exit 3; }; sleep 100"));
    EXPECT_EQ(job.status, status);
    EXPECT_EQ(job.output, "[1] bye\n");
    EXPECT_EQ(job.errors, "gdakit run: PE 1 ended the job with status " + std::to_string(status) +
                              "; ending the other PEs\n");
    EXPECT_LT(Clock::now() - begin, 10s);
  }
}

TEST(RunStatus, WhatIsNoRequestIsNotHeard) {
  const Outcome job =
      gdakit(shell_job(2, "[ $GDAKIT_RANK = 1 ] && echo 1 >$GDAKIT_EXIT_PIPE; sleep 0.3; exit 0"));
  EXPECT_EQ(job.status, 0);
  EXPECT_EQ(job.errors, "");
}

TEST(RunStatus, ASignalIsNamed) {
  const Outcome job = gdakit(shell_job(3, "[ $GDAKIT_RANK = 2 ] && kill -9 $$; exec sleep 100"));
  EXPECT_EQ(job.status, 128 + SIGKILL);
  EXPECT_EQ(job.errors, "gdakit run: PE 2 was killed by signal 9 (Killed); ending the other PEs\n");
}

TEST(RunStatus, AStubbornPeIsKilledTwoSecondsAfterSigterm) {
  const auto begin = Clock::now();
  const Outcome job =
      gdakit(shell_job(2,
                       "if [ $GDAKIT_RANK = 0 ]; then sleep 0.3; exit 3; fi; trap '' TERM;"
                       "while :; do sleep 0.1; done"));
  EXPECT_EQ(job.status, 3);
  EXPECT_GT(Clock::now() - begin, 2s);
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST(RunStatus, TheOthersMayEndInAnOrderlyWay) {
  const Outcome job = gdakit(shell_job(
      2,
      "if [ $GDAKIT_RANK = 0 ]; then sleep 0.3; exit 3; fi; trap 'echo saved; exit 0' TERM;"
      "while :; do sleep 0.05; done"));
  EXPECT_EQ(job.status, 3);
  EXPECT_EQ(job.output, "[1] saved\n");
}

TEST(RunStatus, AStoppedPeIsEndedToo) {
  const auto begin = Clock::now();
  EXPECT_EQ(
      gdakit(shell_job(2, "if [ $GDAKIT_RANK = 0 ]; then sleep 0.3; kill -9 $$; fi; kill -STOP $$"))
          .status,
      128 + SIGKILL);
  EXPECT_LT(Clock::now() - begin, 1900ms) << "SIGKILL was needed";
}

TEST(RunStatus, ATimeoutEndsTheJob) {
  const auto begin = Clock::now();
  const Outcome job = gdakit({"run", "-n", "2", "--timeout", "0.3", "sleep", "100"});
  EXPECT_EQ(job.status, 124);
  EXPECT_EQ(job.errors, "gdakit run: the job did not end within 0.3 s; ending its PEs\n");
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST(RunStatus, AJobWithinItsTimeoutSucceeds) {
  EXPECT_EQ(gdakit({"run", "-n", "2", "--timeout", "60", "true"}).status, 0);
}

// Nothing of a job may be left. The script prints its own number and that of a command it started.
constexpr const char* kTwoProcesses = "sleep 1000 & echo $$ $!; wait";

std::vector<pid_t> read_pids(Launched& job, int pes) {
  std::vector<pid_t> pids;
  for (int i = 0; i < pes; ++i) {
    std::istringstream line(job.line());
    std::string prefix;
    pid_t shell = 0;
    pid_t command = 0;
    line >> prefix >> shell >> command;
    EXPECT_GT(shell, 1);
    EXPECT_GT(command, 1);
    EXPECT_EQ(::getpgid(shell), shell) << "each PE has a process group of its own";
    EXPECT_EQ(::getpgid(command), shell);
    pids.push_back(shell);
    pids.push_back(command);
  }
  return pids;
}

TEST(RunEnd, WhenAPeIsKilledNothingIsLeft) {
  Launched job(shell_job(3, kTwoProcesses));
  const std::vector<pid_t> pids = read_pids(job, 3);
  ASSERT_EQ(::kill(pids[0], SIGKILL), 0);
  EXPECT_EQ(job.wait().status, 128 + SIGKILL);
  for (const pid_t pid : pids) EXPECT_TRUE(ended_within(pid, 5s)) << pid;
}

TEST(RunEnd, WhenTheLauncherIsKilledNothingIsLeft) {
  for (int round = 0; round < 5; ++round) {
    Launched job(shell_job(3, kTwoProcesses));
    const std::vector<pid_t> pids = read_pids(job, 3);
    job.kill(SIGKILL);
    EXPECT_EQ(job.wait().status, 128 + SIGKILL);
    for (const pid_t pid : pids) EXPECT_TRUE(ended_within(pid, 5s)) << pid;
  }
}

TEST(RunEnd, WhatAPeLeavesBehindEndsWithIt) {
  const auto begin = Clock::now();
  Launched job(shell_job(2, "sleep 1000 & echo $$ $!"));
  std::vector<pid_t> commands;
  for (int i = 0; i < 2; ++i) {
    std::istringstream line(job.line());
    std::string word;
    pid_t command = 0;
    line >> word >> word >> command;
    commands.push_back(command);
  }
  EXPECT_EQ(job.wait().status, 0);
  EXPECT_LT(Clock::now() - begin, 10s);
  for (const pid_t pid : commands) EXPECT_TRUE(ended_within(pid, 5s)) << pid;
}

class RunForwards : public testing::TestWithParam<int> {};

TEST_P(RunForwards, TheSignalToEveryPe) {
  Launched job(shell_job(3,
                         "for signal in INT TERM HUP QUIT USR1 USR2; do"
                         "  trap \"echo $signal; exit 0\" $signal; done; echo ready;"
                         "while :; do sleep 0.05; done"));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(job.line(), HasSubstr("ready"));
  job.kill(GetParam());
  const Outcome& outcome = job.wait();
  const std::map<int, std::string> names = {{SIGINT, "INT"},   {SIGTERM, "TERM"},
                                            {SIGHUP, "HUP"},   {SIGQUIT, "QUIT"},
                                            {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};
  const std::string name = names.at(GetParam());
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(lines_of(outcome.output),
              UnorderedElementsAre("[0] " + name, "[1] " + name, "[2] " + name));
}

INSTANTIATE_TEST_SUITE_P(Signals, RunForwards,
                         testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2));

// A job whose PE does not end at the signal `name`.
std::vector<std::string> stubborn_job(const std::string& name) {
  return {"run", "-n",
          "1",   "--timeout",
          "20",  "sh",
          "-c",  "trap 'echo heard' " + name + "; echo ready; while :; do sleep 0.05; done"};
}

void send_twice(Launched& job, int signal) {
  EXPECT_THAT(job.line(), HasSubstr("ready"));
  job.kill(signal);
  EXPECT_THAT(job.line(), HasSubstr("heard"));
  std::this_thread::sleep_for(150ms);  // or the second one would count as the first
  job.kill(signal);
}

TEST(RunSignals, TheSecondInterruptEndsTheJob) {
  Launched job(stubborn_job("INT"));
  send_twice(job, SIGINT);
  const auto begin = Clock::now();
  EXPECT_EQ(job.wait().status, 128 + SIGINT);
  EXPECT_LT(Clock::now() - begin, 1900ms) << "SIGKILL was needed";
  EXPECT_EQ(job.wait().errors,
            "gdakit run: signal 2 (Interrupt) came a second time; ending the PEs\n");
}

TEST(RunSignals, TheSecondSigtermKillsAStubbornPeTwoSecondsLater) {
  Launched job(stubborn_job("TERM"));
  send_twice(job, SIGTERM);
  const auto begin = Clock::now();
  EXPECT_EQ(job.wait().status, 128 + SIGTERM);
  EXPECT_GT(Clock::now() - begin, 1900ms);
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST(RunSignals, OtherSignalsMayComeOften) {
  Launched job(stubborn_job("USR1"));
  send_twice(job, SIGUSR1);
  EXPECT_THAT(job.line(), HasSubstr("heard"));
  job.kill(SIGTERM);
  EXPECT_EQ(job.wait().status, 128 + SIGTERM);
}

// timeout sends SIGTERM to the launcher and then to its process group, which has the launcher, too.
TEST(RunSignals, ASignalThatComesTwiceAtOnceIsOne) {
  const Outcome job =
      command({"timeout", "--preserve-status", "2", GDAKIT_COMMAND, "run", "-n", "1", "sh", "-c",
               "trap 'sleep 0.5; echo saved; exit 0' TERM; while :; do sleep 0.05; done"});
  EXPECT_EQ(job.status, 0);
  EXPECT_EQ(job.output, "[0] saved\n");
  EXPECT_THAT(job.errors, Not(HasSubstr("gdakit run:")));
}

TEST(RunSignals, ASignalThatEndsThePesIsTheJobsStatus) {
  Launched job(shell_job(2, "echo ready; exec sleep 100"));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(job.line(), HasSubstr("ready"));
  job.kill(SIGTERM);
  EXPECT_EQ(job.wait().status, 128 + SIGTERM);
}

TEST(RunSignals, AnIgnoredHangupIsNotForwarded) {
  const std::string end = testing::TempDir() + "gdakit_hangup_" + std::to_string(::getpid());
  // The PEs take the signal's default action again, so that it would end them.
  Launched job({"run", "-n", "2", "env", "--default-signal=HUP", "sh", "-c",
                "echo ready; while [ ! -e '" + end + "' ]; do sleep 0.05; done; echo done"},
               "", true);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(job.line(), HasSubstr("ready"));
  job.kill(SIGHUP);
  std::this_thread::sleep_for(300ms);  // in which it would be forwarded
  std::ofstream{end};
  EXPECT_EQ(job.wait().status, 0);
  EXPECT_THAT(lines_of(job.wait().output), UnorderedElementsAre("[0] done", "[1] done"));
  std::filesystem::remove(end);
}

TEST(RunBootstrap, ThePesOfAJobMeet) {
  for (const int size : {1, 2, 5}) {
    const Outcome job = gdakit({"run", "-n", std::to_string(size), GDAKIT_BOOTSTRAP_PE});
    EXPECT_EQ(job.status, 0) << job.errors;
    std::string ranks;
    for (int rank = 0; rank < size; ++rank) ranks += std::to_string(rank) + " ";
    EXPECT_EQ(lines_of(job.output).size(), static_cast<std::size_t>(size));
    EXPECT_THAT(lines_of(job.output), Each(HasSubstr("] " + ranks)));
  }
}

TEST(RunBootstrap, AnOuterJobsLocalRankIsNotForThePes) {
  const Variable outer("GDAKIT_LOCAL_RANK", "3");
  EXPECT_THAT(lines_of(gdakit(shell_job(2, "echo ${GDAKIT_LOCAL_RANK-none}")).output),
              UnorderedElementsAre("[0] none", "[1] none"));
}

TEST(RunBootstrap, APeThatDiesIsNamedByTheOthersAndByTheLauncher) {
  for (const char* victim : {"0", "1"}) {
    const auto begin = Clock::now();
    const Outcome job = gdakit({"run", "-n", "2", GDAKIT_BOOTSTRAP_PE, victim});
    EXPECT_THAT(job.errors, HasSubstr("PE " + std::string(victim) + " was killed by signal 9"));
    EXPECT_EQ(job.status, 128 + SIGKILL);
    EXPECT_LT(Clock::now() - begin, 10s);
  }
}

TEST(RunBootstrap, WithoutALauncherAPeIsAJobOfOne) {
  // The program is run by the shell of the only PE, without the launcher's variables.
  const Outcome job =
      gdakit(shell_job(1, "env -u GDAKIT_RANK -u GDAKIT_SIZE " + std::string(GDAKIT_BOOTSTRAP_PE)));
  EXPECT_EQ(job.output, "[0] 0 \n");
}

}  // namespace
}  // namespace gdakit::testing_job
