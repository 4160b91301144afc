// What the `gdakit` command says of output that cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/launched.h"

namespace gdakit::testing_job {
namespace {

using testing::EndsWith;
using testing::StartsWith;

constexpr const char* kLitmus = GDAKIT_SOURCES "/tests/litmus/hand/MP-fence-sys.litmus";

Outcome to(const std::string& redirection, const std::string& words) {
  return command({"sh", "-c", "exec " GDAKIT_COMMAND " " + words + " " + redirection});
}

std::vector<std::string> commands() {
  const std::string litmus = std::string("litmus ") + kLitmus;
  return {"--version",
          "--help",
          "info",
          "info --json",
          "explore --list",
          "explore put-quiet --schedules 2",
          "explore put-quiet --schedules 2 --json -",
          litmus,
          litmus + " --json"};
}

TEST(Output, ThatCannotBeWrittenIsAFailureOfEveryCommand) {
  for (const std::string& words : commands()) {
    const Outcome full = to(">/dev/full", words);
    EXPECT_EQ(full.status, 1) << words;
    EXPECT_THAT(full.errors, StartsWith("gdakit")) << words;
    EXPECT_THAT(full.errors, EndsWith("stdout cannot be written: No space left on device\n"));
    EXPECT_EQ(to(">/dev/null", words).status, 0) << words;
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

}  // namespace
}  // namespace gdakit::testing_job
