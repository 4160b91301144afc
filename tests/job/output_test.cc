// What the `gdakit` command says of output that cannot be written.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/annotate.h"
#include "tests/job/launched.h"

namespace gdakit::testing_job {
namespace {

using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kLitmus = GDAKIT_SOURCES "/tests/litmus/hand/MP-fence-sys.litmus";
constexpr const char* kNicLitmus = GDAKIT_SOURCES "/tests/world/litmus/cqe-bytes.niclitmus";

Outcome to(const std::string& redirection, const std::string& words) {
  return command({"sh", "-c", "exec " GDAKIT_COMMAND " " + words + " " + redirection});
}

std::vector<std::string> commands() {
  const std::string litmus = std::string("litmus ") + kLitmus;
  const std::string nic_litmus = std::string("litmus ") + kNicLitmus;
  return {"--version",
          "--help",
          "help run",
          "info",
          "info --brief",
          "info --json",
          "explore --list",
          "explore put-quiet --schedules 2",
          "explore put-quiet --schedules 2 --json -",
          litmus,
          litmus + " --json",
          nic_litmus,
          nic_litmus + " --json"};
}

TEST(Output, ThatCannotBeWrittenIsAFailureOfEveryCommand) {
  for (const std::string& words : commands()) {
    const Outcome full = to(">/dev/full", words);
    EXPECT_EQ(full.status, 1) << words;
    const std::string command = words.substr(0, words.find(' '));
    EXPECT_THAT(full.errors, HasSubstr(words[0] == '-' ? "gdakit: " : "gdakit " + command + ": "));
    EXPECT_THAT(full.errors, EndsWith("stdout cannot be written: No space left on device\n"));
    EXPECT_EQ(to(">/dev/null", words).status, 0) << words;
  }
}

TEST(Output, ThatCannotBeWrittenIsAFailureOfMutants) {
  if (kThreadSanitizer || kAddressSanitizer) {
    GTEST_SKIP() << "one thread runs every scenario once: that takes long";
  }
  for (const std::string format : {"", " --json"}) {
    const std::string words = "mutants --only WqeBeforeDoorbellRecord --executions 20" + format;
    const Outcome full = to(">/dev/full", words);
    EXPECT_EQ(full.status, 1);
    EXPECT_EQ(full.errors, "gdakit mutants: stdout cannot be written: No space left on device\n");
  }
}

TEST(Output, IsAFailureWhereStdoutIsClosed) {
  for (const std::string& words : commands()) {
    const Outcome closed = to(">&-", words);
    EXPECT_EQ(closed.status, 1) << words;
    EXPECT_THAT(closed.errors, EndsWith("stdout cannot be written: Bad file descriptor\n"));
  }
  const Outcome job = to(">&-", "run -n 2 echo hi");
  EXPECT_EQ(job.status, 1);
  EXPECT_EQ(job.errors, "gdakit run: stdout cannot be written: Bad file descriptor\n");
}

// The number of a closed stdout would be that of the next file.
TEST(Output, OfAClosedStdoutGetsIntoNoFile) {
  const std::string file = testing::TempDir() + "gdakit-closed-stdout.json";
  const Outcome closed = to(">&-", "explore put-quiet --schedules 2 --json " + file);
  EXPECT_EQ(closed.status, 1);
  EXPECT_EQ(command({"head", "-c", "1", file}).output, "{");
  EXPECT_EQ(command({"rm", file}).status, 0);
}

TEST(Output, AFailuresOwnStatusStays) {
  EXPECT_EQ(to(">/dev/full", "explore nosuch").status, 2);
  EXPECT_EQ(to(">/dev/full", "run -n 1 sh -c 'exit 7'").status, 7);
}

TEST(SearchCommands, SayWhatANumberShouldBe) {
  for (const std::string words : {"litmus x --runs", "litmus x --bound", "mutants --executions"}) {
    const std::size_t option = words.find("--");
    const Outcome zero = to("", words + " 0");
    EXPECT_EQ(zero.status, 2);
    const std::string command = "gdakit " + words.substr(0, words.find(' '));
    EXPECT_EQ(zero.errors, command + ": " + words.substr(option) +
                               ": \"0\" is not a whole number from 1 (see " + command +
                               " --help)\n");
  }
  EXPECT_THAT(to("", "explore put-quiet --seed -1").errors,
              HasSubstr("\"-1\" is not a whole number from 0"));
}

TEST(SearchCommands, RefuseAnUnknownNameOfMutants) {
  if (kThreadSanitizer) {
    GTEST_SKIP() << "one thread runs every scenario: that takes long and shows no race";
  }
  const Outcome unknown = to("", "mutants --only nosuch");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.errors, StartsWith("gdakit mutants: no mutant's name contains 'nosuch'; a "
                                         "name is like 'device/"));
  EXPECT_THAT(to("", "mutants --only WqeBeforeDorbellRecord").errors,
              EndsWith("; did you mean WqeBeforeDoorbellRecord?\n"));
}

TEST(SearchCommands, EndWithASummaryAfterAnInterrupt) {
  Launched exploring({"explore", "all", "--schedules", "3000"});
  EXPECT_THAT(exploring.line(), HasSubstr("put-quiet: passed"));
  exploring.kill(SIGINT);
  const Outcome& ended = exploring.wait();
  EXPECT_EQ(ended.status, 130);
  EXPECT_THAT(ended.errors, ContainsRegex("interrupted in scenario [0-9]+ of [0-9]+\n"));
}

}  // namespace
}  // namespace gdakit::testing_job
