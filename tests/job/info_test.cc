// `gdakit info` and the command line around it.
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/option_table.h"
#include "core/base/options.h"
#include "tests/job/launched.h"
#include "tests/job/variable.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Info, EveryOptionIsListedWithValueAndSource) {
  const Variable depth("GDAKIT_QUEUE_DEPTH", "256");
  const Outcome info = gdakit({"info"});
  EXPECT_EQ(info.status, 0);
  const std::string unbroken = std::regex_replace(info.output, std::regex("\\s+"), " ");
  for (const OptionRow& row : option_table()) {
    EXPECT_THAT(unbroken, AllOf(HasSubstr(row.name), HasSubstr(row.sentence)));
  }
  EXPECT_THAT(info.output, testing::ContainsRegex("GDAKIT_QUEUE_DEPTH +256 +environment\n"));
  EXPECT_THAT(info.output, testing::ContainsRegex("GDAKIT_TIMEOUT +60 +default\n"));
}

TEST(Info, BuildAndBackendsAreNamed) {
  EXPECT_THAT(gdakit({"info"}).output,
              AllOf(HasSubstr("compiler"), HasSubstr("sanitizer"), HasSubstr("cuda"),
                    HasSubstr("rdma_core"), HasSubstr("softnic"), HasSubstr("mlx5")));
}

TEST(Info, TheSecretIsNotShown) {
  const Variable secret("GDAKIT_SECRET", "00112233445566778899aabbccddeeff");
  for (const Outcome& info : {gdakit({"info"}), gdakit({"info", "--json"})}) {
    EXPECT_THAT(info.output, AllOf(HasSubstr("(set)"), Not(HasSubstr("00112233"))));
  }
}

// Names of launchers, paths and messages may be long words; the rest is broken.
TEST(Info, LinesHaveAHundredColumns) {
  for (const char* form : {"info", "help"}) {
    for (const std::string& line : lines_of(gdakit({form}).output)) {
      EXPECT_LE(line.size(), 100u) << line;
    }
  }
}

// `info` as on a terminal.
std::string shown_on_a_terminal(const std::string& settings) {
  return command({"/bin/sh", "-c", settings + " script -qec '" GDAKIT_COMMAND " info' /dev/null"})
      .output;
}

TEST(Info, HeadingsAreBoldOnATerminalOnly) {
  const std::string bold = "\x1b[1mBackends\x1b[0m";
  EXPECT_THAT(shown_on_a_terminal("NO_COLOR= TERM=xterm"), HasSubstr(bold));
  EXPECT_THAT(shown_on_a_terminal("NO_COLOR=1 TERM=xterm"),
              AllOf(HasSubstr("Backends"), Not(HasSubstr("\x1b["))));
  EXPECT_THAT(gdakit({"info"}).output, AllOf(HasSubstr("Backends"), Not(HasSubstr("\x1b["))));
}

TEST(Info, WhatAnOptionAllowsIsSaidOnce) {
  const std::string text = gdakit({"info"}).output;
  EXPECT_THAT(text, HasSubstr("\n      Allowed: auto, gpu, proxy or commands.\n"));
  EXPECT_THAT(text, HasSubstr("\n      Allowed: a power of two from 64 to 32768 (WQEBBs).\n"));
  EXPECT_THAT(text, HasSubstr("\n      Allowed: seconds, from 0.001 to 1000000.\n"));
}

TEST(Info, TheBriefFormHasWhatIsSet) {
  const Variable depth("GDAKIT_QUEUE_DEPTH", "256");
  const Variable secret("GDAKIT_SECRET", "00112233445566778899aabbccddeeff");
  const Outcome info = gdakit({"info", "--brief"});
  EXPECT_EQ(info.status, 0);
  EXPECT_LE(lines_of(info.output).size(), 12u);
  EXPECT_THAT(info.output, AllOf(HasSubstr("build"), HasSubstr("GPU"), HasSubstr("launcher"),
                                 HasSubstr("GDAKIT_QUEUE_DEPTH=256"), Not(HasSubstr("_TIMEOUT")),
                                 HasSubstr("GDAKIT_SECRET=(set)"), Not(HasSubstr("00112233"))));
  EXPECT_EQ(gdakit({"info", "--brief", "--json"}).status, 2);
}

TEST(Info, JsonHasTheSameOptions) {
  const Outcome info = gdakit({"info", "--json"});
  EXPECT_EQ(info.status, 0);
  EXPECT_THAT(info.output, StartsWith("{\n  \"version\": \""));
  for (const OptionRow& row : option_table()) {
    EXPECT_THAT(info.output, HasSubstr("{\"name\": \"" + std::string(row.name) + "\""));
  }
  EXPECT_THAT(info.output, HasSubstr("\"value\": \"60\", \"source\": \"default\""));
}

TEST(Info, TheMachinesGpusAndWhatIsMadeOfThemAreTold) {
  const Variable payload("GDAKIT_PAYLOAD", "host");
  const Variable dma("GDAKIT_DMA", "copy-engine");
  const Variable handler("GDAKIT_NIC_HANDLER", "commands");
  const std::string text = gdakit({"info"}).output;
  EXPECT_THAT(text, testing::ContainsRegex("\n  handler +commands: a host thread writes WQEs"));
  EXPECT_THAT(text, testing::ContainsRegex("\nGPUs\n  (none|0) +[A-Za-z]"));
  EXPECT_THAT(text, testing::ContainsRegex("\n  MPS  .+daemon runs"));
  EXPECT_THAT(text, testing::ContainsRegex("\n  queues  .+memory"));
  EXPECT_THAT(text, HasSubstr("through host memory: GDAKIT_PAYLOAD asks for it"));
  EXPECT_THAT(text, HasSubstr("transport   the NIC for all peers: auto, with the soft NIC"));
  const bool has_gpu = text.find("\n  none ") == std::string::npos;
  EXPECT_THAT(text, HasSubstr(has_gpu ? "copy-engine: GDAKIT_DMA asks for it"
                                      : "host memory only: there is no GPU"));
  const std::string json = gdakit({"info", "--json"}).output;
  for (const char* name :
       {"gpus", "gpu_driver", "no_gpus_because", "mps", "dma", "queues", "handler"}) {
    EXPECT_THAT(json, HasSubstr("\n  \"" + std::string(name) + "\": "));
  }
}

TEST(Info, TheLauncherIsToldAndWhyTheOthersAreNot) {
  const std::string alone = gdakit({"info"}).output;
  EXPECT_THAT(alone, AllOf(testing::ContainsRegex("launcher +none\n"),
                           testing::ContainsRegex("rank +0 of 1\n"),
                           testing::ContainsRegex("torchrun +no: RANK is not set\n")));
  const Variable rank("RANK", "1");
  const Variable size("WORLD_SIZE", "2");
  EXPECT_THAT(gdakit({"info"}).output, testing::ContainsRegex("error +MASTER_ADDR is not set"));
  const Variable address("MASTER_ADDR", "gpu7");
  const Variable port("MASTER_PORT", "29500");
  EXPECT_THAT(
      gdakit({"info"}).output,
      AllOf(testing::ContainsRegex("root +gpu7:30117\n"), testing::ContainsRegex("secret +derived"),
            testing::ContainsRegex("torchrun +in charge: RANK and WORLD_SIZE are set")));
  EXPECT_THAT(gdakit({"info", "--json"}).output,
              HasSubstr("\"launch\": {\"launcher\": \"torchrun\", \"rank\": \"1 of 2\""));
}

TEST(Info, AVariableThatIsNotAllowedIsAnError) {
  const Variable depth("GDAKIT_QUEUE_DEPTH", "100");
  const Outcome info = gdakit({"info"});
  EXPECT_EQ(info.status, 1);
  EXPECT_THAT(info.errors, AllOf(HasSubstr("GDAKIT_QUEUE_DEPTH"), HasSubstr("\"100\""),
                                 HasSubstr("power of two from 64 to 32768")));
}

TEST(Info, AnUnknownVariableIsWarnedOf) {
  const Variable typo("GDAKIT_TIMOUT", "100");
  EXPECT_THAT(gdakit({"info"}).errors, AllOf(HasSubstr("warn"), HasSubstr("GDAKIT_TIMEOUT?")));
}

TEST(CommandLine, VersionAndHelpSucceed) {
  EXPECT_THAT(gdakit({"--version"}).output, testing::ContainsRegex("^gdakit [0-9]+\\.[0-9]+"));
  const Outcome help = gdakit({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("Examples:"), HasSubstr("run"), HasSubstr("info")));
  EXPECT_THAT(gdakit({"run", "--help"}).output, HasSubstr("Exit status"));
}

TEST(CommandLine, HelpIsACommandToo) {
  EXPECT_EQ(gdakit({"help"}).output, gdakit({"--help"}).output);
  EXPECT_EQ(gdakit({"help", "run"}).output, gdakit({"run", "--help"}).output);
  const Outcome unknown = gdakit({"help", "fly"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("there is no command \"fly\""));
}

// What bash would propose for the last of the words.
std::vector<std::string> completed(const std::string& words) {
  const std::string script = "source " GDAKIT_SOURCES "/tools/gdakit.bash; COMP_WORDS=(" +
                             std::string(GDAKIT_COMMAND) + ' ' + words +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _gdakit; "
                             "printf '%s\\n' \"${COMPREPLY[@]}\"";
  return lines_of(command({"bash", "-c", script}).output);
}

TEST(CommandLine, BashCompletesCommandsOptionsAndScenarios) {
  EXPECT_EQ(completed("r"), std::vector<std::string>{"run"});
  EXPECT_EQ(completed("help mu"), std::vector<std::string>{"mutants"});
  EXPECT_EQ(completed("run --no"), std::vector<std::string>{"--no-prefix"});
  EXPECT_EQ(completed("run --pe"), std::vector<std::string>{"--pes"});
  EXPECT_EQ(completed("explore put-q"), std::vector<std::string>{"put-quiet"});
}

TEST(CommandLine, BashCompletesTheWordsOfVerbs) {
  EXPECT_EQ(completed("verbs k"), std::vector<std::string>{"kill-port"});
  EXPECT_EQ(completed("verbs --fabric blue st"), std::vector<std::string>{"stats"});
  EXPECT_EQ(completed("verbs set all p"), std::vector<std::string>{"port=up"});
  EXPECT_EQ(completed("verbs -- st"), std::vector<std::string>{""});
}

TEST(CommandLine, BadUsageIsStatusTwo) {
  EXPECT_EQ(gdakit({}).status, 2);
  const Outcome unknown = gdakit({"fly"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(
      unknown.errors,
      "gdakit: there is no command \"fly\"; there are run, info, explore, mutants, litmus, top, "
      "timeline, verbs, check\n");
  const Outcome option = gdakit({"info", "--yaml"});
  EXPECT_EQ(option.status, 2);
  EXPECT_THAT(option.errors, HasSubstr("(see gdakit info --help)"));
}

}  // namespace
}  // namespace gdakit::testing_job
