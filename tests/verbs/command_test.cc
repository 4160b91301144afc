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
        {{"--fabric", "a/b"}, "use up to 40 letters, digits"},
        {{"--faults", "drop=200%"}, "--faults: "},
        {{"--fail", "prot=down"}, "--fail: prot=down: there is no failure \"prot\", but node,"},
        {{"--fail", "port=down", "--fail", "qps=few"}, "--fail: qps=few: write qps=N"},
        {{"--address", "127.0.0.1", "--fail", "pe1:ports=2"}, "--fail ports=2: NICs that other"},
        {{"--pcap", "/proc/nowhere"}, "--pcap: /proc/nowhere"},
        {{"--trace", "/proc/nowhere"}, "--trace: "}}) {
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

TEST(Verbs, EnvIsReadByAShellAsItIs) {
  const Variable preloaded("LD_PRELOAD", "it's 'here'.so");
  const Outcome outcome = gdakit({"verbs", "--faults", "drop=1%", "env"});
  EXPECT_THAT(outcome.output, HasSubstr(R"(so:it'\''s '\''here'\''.so')"));
  EXPECT_THAT(outcome.output, HasSubstr("export GDAKIT_NIC_FAULTS='drop=1%'\n"));
}

TEST(Verbs, FailuresOfAllListsAreHandedOn) {
  const Outcome outcome =
      gdakit({"verbs", "--fail", "port=down,mlx5_1/qps=2", "--fail", "pe1:devx=EPERM", "env"});
  EXPECT_THAT(outcome.output,
              HasSubstr("export GDAKIT_VERBS_FAIL='port=down,mlx5_1/qps=2,pe1:devx=EPERM'\n"));
  EXPECT_THAT(gdakit({"verbs", "env"}).output, Not(HasSubstr("GDAKIT_VERBS_FAIL")));
  const Variable around("GDAKIT_VERBS_FAIL", "port=down");
  EXPECT_THAT(gdakit({"verbs", "env"}).output, HasSubstr("export GDAKIT_VERBS_FAIL=''\n"));
}

TEST(Verbs, FailuresThatThereAreAreListed) {
  const Outcome outcome = gdakit({"verbs", "--fail", "help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("  port=down|init|armed[:N] "),
                                    HasSubstr("the firmware refuses a command")));
}

TEST(Verbs, WordsThatItDoesNotKnowAreRefused) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"verbs", "ls", "more"},
                                                {"verbs", "list"},
                                                {"verbs", "set", "all", "port=sideways"},
                                                {"verbs", "set", "me", "port=up"},
                                                {"verbs", "set", "7"},
                                                {"verbs", "kill-port"},
                                                {"verbs", "--trace", "t.json", "env"}}) {
    EXPECT_EQ(gdakit(words).status, 2) << words.back();
  }
}

TEST(Verbs, AFabricWithoutNicsIsNamed) {
  for (const char* word : {"ls", "stats"}) {
    const Outcome outcome = gdakit({"verbs", "--fabric", "empty", word});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.errors, HasSubstr("no NIC is on in the fabric empty"));
  }
  const Outcome nobody = gdakit({"verbs", "--fabric", "empty", "kill-port", "1"});
  EXPECT_EQ(nobody.status, 1);
  EXPECT_THAT(nobody.errors, HasSubstr("1 has no NIC in the fabric empty"));
}

TEST(Verbs, ATraceOfAProgramWithoutANicIsNone) {
  const Outcome outcome = gdakit({"verbs", "--trace", "/dev/null", "--", "sh", "-c", "exit 3"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.errors, HasSubstr("has opened no soft ConnectX"));
  EXPECT_EQ(gdakit({"verbs", "--trace", "/dev/null", "--", "true"}).status, 1);
}

// Not gdakit's own programs either: they know these variables.
TEST(Verbs, SaysNothingOfItsOwnToPrograms) {
  const Outcome outcome = gdakit({"verbs", "--", GDAKIT_COMMAND, "info"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.errors, Not(HasSubstr("GDAKIT_VERBS")));
}

}  // namespace
}  // namespace gdakit::testing_job
