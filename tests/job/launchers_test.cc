// The programs of a job under every launcher that this machine has, unmodified.
#include "tests/job/launchers.h"

#include <filesystem>
#include <signal.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/annotate.h"
#include "tests/job/variable.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

// The words of a shell, after the first few that are a launcher's.
Words shell(const std::string& script) { return {"sh", "-c", script}; }

bool can_be_asked_to_end(const std::string& launcher) {
  return launcher == "gdakit" || launcher.ends_with("pmix") || launcher == "mpirun";
}

class Launcher : public testing::TestWithParam<const char*> {
 protected:
  // The outcome, unless the launcher is not to be had here: then the test is skipped.
  bool run(int size, const Words& program) {
    std::string why_not;
    const std::optional<Outcome> outcome = launch_job(GetParam(), size, program, why_not);
    if (outcome) outcome_ = *outcome;
    why_not_ = why_not;
    return outcome.has_value();
  }

  Outcome outcome_;
  std::string why_not_;

 private:
  Variable device_{"GDAKIT_DEVICE", "cpu"};
};

TEST_P(Launcher, StartsJobsWhoseTrafficIsExact) {
  if (!run(4, {GDAKIT_TRAFFIC_PE, "10"})) GTEST_SKIP() << why_not_;
  EXPECT_EQ(outcome_.status, 0) << outcome_.errors;
  EXPECT_EQ(outcome_.errors, "");
  for (int pe = 0; pe < 4; ++pe) {
    EXPECT_THAT(outcome_.output, HasSubstr("PE " + std::to_string(pe) + " is done"));
  }
}

// The programs that call every operation for every type, as `gdakit run` starts them elsewhere.
TEST_P(Launcher, StartsProgramsOfAllOperations) {
  if (GDAKIT_ASAN || GDAKIT_TSAN) GTEST_SKIP() << "a sanitizer sees them by `gdakit run`";
  for (const char* const program : {GDAKIT_NAMES_PE, GDAKIT_COLLECTIVES_PE}) {
    if (!run(4, {program})) GTEST_SKIP() << why_not_;
    EXPECT_EQ(outcome_.status, 0) << program << ": " << outcome_.errors;
    EXPECT_EQ(lines_of(outcome_.output).size(), 4u) << program << ": " << outcome_.output;
  }
}

TEST_P(Launcher, EndsTheJobWithThePeThatIsKilled) {
  if (!run(4, {GDAKIT_TRAFFIC_PE, "10", "1"})) GTEST_SKIP() << why_not_;
  EXPECT_NE(outcome_.status, 0);
  int pids = 0;
  for (const std::string& line : lines_of(outcome_.output)) {
    const std::size_t at = line.find("pid ");
    if (at == std::string::npos) continue;
    ++pids;
    EXPECT_TRUE(ended_within(std::stoi(line.substr(at + 4)), 5000ms)) << line;
  }
  EXPECT_EQ(pids, 4);
}

// nvshmem_global_exit, by the last PE, while the others wait for it without end. Where the launcher
// lets them wait, as srun does, they end by their watchdog.
TEST_P(Launcher, EndsTheJobThatOnePeGivesUp) {
  const Variable watchdog("GDAKIT_WATCHDOG", "5");
  for (const char* const where : {"host", "kernel"}) {
    if (!run(3, {GDAKIT_EXIT_PE, "7", where})) GTEST_SKIP() << why_not_;
    // torchrun has a status of its own for every failure.
    EXPECT_EQ(outcome_.status, GetParam() == std::string("torchrun") ? 1 : 7) << outcome_.errors;
    EXPECT_THAT(outcome_.output, HasSubstr("the last words"));
  }
}

// Success, which a launcher that is not asked to end the job would let the others wait for.
TEST_P(Launcher, EndsTheJobWithSuccessIfItCanBeAsked) {
  if (!can_be_asked_to_end(GetParam())) GTEST_SKIP() << "it cannot be asked";
  const Variable watchdog("GDAKIT_WATCHDOG", "0");
  for (const char* const where : {"host", "kernel"}) {
    if (!run(3, {GDAKIT_EXIT_PE, "0", where})) GTEST_SKIP() << why_not_;
    // Slurm tells how the others ended: by its signal, or first by what they heard of it (exit_pe).
    const bool tells_of_others = GetParam() == std::string("slurm_pmix");
    EXPECT_THAT(outcome_.status, tells_of_others ? AnyOf(128 + SIGKILL, 1) : AnyOf(0, 0))
        << outcome_.errors;
    EXPECT_THAT(outcome_.output, HasSubstr("the last words"));
  }
}

// A process that leaves before its init, with the status of success.
TEST_P(Launcher, APeThatDoesNotComeIsWaitedForNoLongerThanTheTimeout) {
  const Variable timeout("GDAKIT_TIMEOUT", "5");  // the launcher's server must answer in it, too
  const std::string rank = "${GDAKIT_RANK:-${PMIX_RANK:-${RANK:-$SLURM_PROCID}}}";
  const Words program = shell("[ " + rank + " = 1 ] && exec sleep 10; exec " + GDAKIT_BOOTSTRAP_PE);
  if (!run(2, program)) GTEST_SKIP() << why_not_;
  EXPECT_NE(outcome_.status, 0);
  EXPECT_THAT(outcome_.errors, ContainsRegex("5 s.*(PE 1|every PE of the job)"));
}

TEST_P(Launcher, IsToldByInfoAndTheSecretIsNot) {
  const Variable secret("GDAKIT_SECRET", "00112233445566778899aabbccddeeff");
  if (GetParam() == std::string("gdakit")) GTEST_SKIP() << "gdakit run makes its own secret";
  if (!run(2, {GDAKIT_COMMAND, "info"})) GTEST_SKIP() << why_not_;
  EXPECT_EQ(outcome_.status, 0) << outcome_.errors;
  EXPECT_THAT(outcome_.output,
              AllOf(ContainsRegex("rank +0 of 2, local rank 0"),
                    ContainsRegex("rank +1 of 2, local rank 1"), Not(HasSubstr("001122"))));
}

INSTANTIATE_TEST_SUITE_P(By, Launcher, testing::ValuesIn(kLaunchers),
                         [](const auto& test) { return std::string(test.param); });

TEST(Pmix, AProgramMayUseMpiAfterIt) {
  if (std::string(GDAKIT_MPI_PE).empty()) GTEST_SKIP() << "built without MPI (libopenmpi-dev)";
  if (const auto missing = launcher_missing("mpirun")) GTEST_SKIP() << *missing;
  const Outcome outcome = command(launch_words("mpirun", 3, {GDAKIT_MPI_PE, "after"}));
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
  EXPECT_EQ(lines_of(outcome.output).size(), 6u) << outcome.output;
}

class MpiCommunicator : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(GDAKIT_MPI_PE).empty()) GTEST_SKIP() << "built without MPI (libopenmpi-dev)";
    if (const auto missing = launcher_missing("mpirun")) GTEST_SKIP() << *missing;
  }
  Outcome run(int size, const char* mode) {
    return command(launch_words("mpirun", size, {GDAKIT_MPI_PE, mode}));
  }
};

TEST_F(MpiCommunicator, ItsRanksAreThePes) {
  const Outcome outcome = run(4, "world");
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
  for (const char* const line : {"PE 0 of 4, local rank 0", "PE 3 of 4, local rank 3"}) {
    EXPECT_THAT(outcome.output, HasSubstr(line));
  }
}

TEST_F(MpiCommunicator, TwoAreTwoJobs) {
  const Outcome outcome = run(4, "halves");
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  const std::vector<std::string> lines = lines_of(outcome.output);
  EXPECT_EQ(std::ranges::count(lines, "PE 0 of 2, local rank 0"), 2);
  EXPECT_EQ(std::ranges::count(lines, "PE 1 of 2, local rank 1"), 2);
}

TEST_F(MpiCommunicator, TheErrorOfOneRankIsEveryRanks) {
  const Outcome outcome = run(3, "bad");
  EXPECT_NE(outcome.status, 0);
  std::size_t told = 0;
  for (const std::string& line : lines_of(outcome.errors)) {
    told += line.starts_with("error: init on rank 2 of the communicator: GDAKIT_QUEUE_DEPTH");
  }
  EXPECT_EQ(told, 3u) << outcome.errors;
}

TEST_F(MpiCommunicator, MpiMustBeInitialized) {
  EXPECT_THAT(run(1, "without").errors, HasSubstr("call MPI_Init first"));
}

TEST(UniqueIdJob, MeetsByAFile) {
  const auto path =
      std::filesystem::temp_directory_path() / ("gdakit_id_" + std::to_string(::getpid()));
  const std::string pe = std::string(GDAKIT_UNIQUE_ID_PE) + " " + path.string();
  const Outcome outcome =
      command(shell(pe + " 2 3 & " + pe + " 1 3 & " + pe + " 0 3; status=$?; wait; exit $status"));
  std::filesystem::remove(path);
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  for (const char* const line : {"PE 0 of 3", "PE 1 of 3", "PE 2 of 3"}) {
    EXPECT_THAT(outcome.errors, HasSubstr(line));
  }
}

TEST(UniqueIdJob, MeetsByAPipe) {
  const std::string pe = std::string(GDAKIT_UNIQUE_ID_PE) + " - ";
  const Outcome outcome = command(shell(pe + "0 2 | " + pe + "1 2"));
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("PE 0 of 2"), HasSubstr("PE 1 of 2")));
}

TEST(UniqueIdJob, AnOldIdIsAnErrorWithinTheTimeout) {
  const Variable timeout("GDAKIT_TIMEOUT", "1");
  const std::string pe = std::string(GDAKIT_UNIQUE_ID_PE) + " - ";
  const Outcome outcome = command(shell(pe + "0 1 | { sleep 0.5; " + pe + "1 2; }"));
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("within 1 s"), HasSubstr("if it is old")));
}

}  // namespace
}  // namespace gdakit::testing_job
