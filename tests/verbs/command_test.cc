// `gdakit verbs` itself: what it refuses, and what it hands on to a program.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>

#include "tests/job/launched.h"
#include "tests/job/variable.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Verbs, BecomesTheProgram) {
  const Outcome outcome = gdakit({"verbs", "--", "sh", "-c", "echo $GDAKIT_VERBS_SPEC; exit 7"});
  EXPECT_EQ(outcome.status, 7);
  EXPECT_EQ(outcome.output, "nics=1,model=7,link=roce,fabric=default\n");
}

TEST(Verbs, HandsOnWhatItWasTold) {
  const Outcome outcome = gdakit({"verbs", "--nics", "3", "--model", "6", "--link", "ib",
                                  "--fabric", "mine", "--", "sh", "-c", "echo $GDAKIT_VERBS_SPEC"});
  EXPECT_EQ(outcome.output, "nics=3,model=6,link=ib,fabric=mine\n");
}

TEST(Verbs, PreloadsItsLibraryBeforeOthers) {
  const Variable preloaded("LD_PRELOAD", "libm.so.6");
  const Outcome outcome = gdakit({"verbs", "env"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("/libgdakit-verbs.so:libm.so.6'\n"));
}

TEST(Verbs, QuotesWhatItPrintsForTheShell) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("it's a \"test\" of $HOME " + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  {
    const Variable temporary("TMPDIR", folder.string());
    const Outcome outcome =
        command({"sh", "-c",
                 "eval \"$(" GDAKIT_COMMAND " verbs env)\" && unset LD_PRELOAD && ls "
                 "\"$GDAKIT_VERBS_SYSFS/class/infiniband\""});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.output, "mlx5_0\n");
  }
  std::filesystem::remove_all(folder);
}

TEST(Verbs, NamesWhatIsWrongAndTheRemedy) {
  for (const auto& [words, sentence] :
       {std::pair<std::vector<std::string>, std::string>{{"--model", "5"}, "use 6, 7 or 8"},
        {{"--nics", "17"}, "use 1 to 16"},
        {{"--link", "opa"}, "use roce or ib"},
        {{"--fabric", "a/b"}, "use up to 40 letters, digits"}}) {
    std::vector<std::string> command = {"verbs"};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), {"--", "true"});
    const Outcome outcome = gdakit(command);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.errors, AllOf(HasSubstr("gdakit verbs: "), HasSubstr(sentence)));
  }
  const Outcome none = gdakit({"verbs"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.errors, HasSubstr("name a program behind --"));
  const Outcome absent = gdakit({"verbs", "--", "there-is-no-such-program"});
  EXPECT_EQ(absent.status, 127);
  EXPECT_THAT(absent.errors, HasSubstr("there-is-no-such-program"));
}

// Not gdakit's own programs either: they know these variables.
TEST(Verbs, SaysNothingOfItsOwnToPrograms) {
  const Outcome outcome = gdakit({"verbs", "--", GDAKIT_COMMAND, "info"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.errors, Not(HasSubstr("GDAKIT_VERBS")));
}

}  // namespace
}  // namespace gdakit::testing_job
