// `gdakit run`: words that name no job, and how it says so.
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/launched.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(RunUsage, AProgramThatIsNotThereIsNotFound) {
  const Outcome job = gdakit({"run", "-n", "3", "./no-such-program", "x"});
  EXPECT_EQ(job.status, 127);
  EXPECT_EQ(job.errors, "gdakit run: cannot run ./no-such-program: No such file or directory\n");
}

TEST(RunUsage, AProgramThatIsNotOnThePathIsLookedForHere) {
  EXPECT_EQ(gdakit({"run", "-n", "1", "no-such-program"}).errors,
            "gdakit run: cannot run no-such-program: no folder of the PATH has a program of that "
            "name\n");
  const Outcome here =
      command({"sh", "-c",
               "cd " GDAKIT_SOURCES "/scripts && exec " GDAKIT_COMMAND " run -n 1 options-page"});
  EXPECT_EQ(here.status, 127);
  EXPECT_THAT(here.errors, HasSubstr("; the one in this folder is ./options-page\n"));
}

TEST(RunUsage, AScriptWhoseInterpreterIsMissingIsToldSo) {
  const std::string script = testing::TempDir() + "gdakit-script-" + std::to_string(::getpid());
  std::ofstream(script) << "#! /no/such/shell -e\n";
  ASSERT_EQ(::chmod(script.c_str(), 0700), 0);
  const Outcome job = gdakit({"run", "-n", "1", script});
  std::filesystem::remove(script);
  EXPECT_EQ(job.status, 127);
  EXPECT_EQ(job.errors, "gdakit run: cannot run " + script +
                            ": its first line names /no/such/shell, which does not exist\n");
}

TEST(RunUsage, TheProgramHasItsPlaceInTheHelp) {
  EXPECT_THAT(gdakit({"run", "--help"}).output,
              HasSubstr("\nUsage: gdakit run -n N [OPTIONS] PROGRAM [ARGUMENTS...]\n"));
}

TEST(RunUsage, WhatIsNoNumberIsSaidToBeNone) {
  for (const char* size : {"x", "1.5", "2x", "99999999999"}) {
    const Outcome job = gdakit({"run", "-n", size, "true"});
    EXPECT_EQ(job.status, 2);
    EXPECT_EQ(job.errors, "gdakit run: --pes: takes a whole number, not \"" + std::string(size) +
                              "\" (see gdakit run --help)\n");
  }
  EXPECT_THAT(gdakit({"run", "-n", "1", "--timeout", "soon", "true"}).errors,
              HasSubstr("--timeout: takes a number of seconds, not \"soon\""));
}

TEST(RunUsage, AFileThatIsNoProgramCannotBeExecuted) {
  const Outcome job = gdakit({"run", "-n", "3", "/etc/passwd"});
  EXPECT_EQ(job.status, 126);
  EXPECT_EQ(job.errors, "gdakit run: cannot run /etc/passwd: Permission denied\n");
}

TEST(RunUsage, TheNumberOfPesHasBounds) {
  for (const char* count : {"0", "-1", "1025"}) {
    const Outcome job = gdakit({"run", "-n", count, "true"});
    EXPECT_EQ(job.status, 2);
    EXPECT_THAT(job.errors, AllOf(HasSubstr(count), HasSubstr("1 to 1024")));
  }
  EXPECT_EQ(gdakit({"run", "-n", "many", "true"}).status, 2);
  EXPECT_EQ(gdakit({"run", "true"}).status, 2);
}

TEST(RunUsage, AProgramAndOptionsThatExistAreNeeded) {
  EXPECT_THAT(gdakit({"run", "-n", "1"}).errors, HasSubstr("which program?"));
  EXPECT_THAT(gdakit({"run", "-n", "1", "--"}).errors, HasSubstr("which program?"));
  EXPECT_THAT(gdakit({"run", "-n", "1", "--fast", "true"}).errors, HasSubstr("no option --fast"));
  EXPECT_EQ(gdakit({"run", "-n", "1", "--timeout", "0", "true"}).status, 2);
}

TEST(RunUsage, TheProgramsOwnOptionsAreLeftToIt) {
  EXPECT_EQ(gdakit({"run", "-n", "1", "echo", "-n", "5", "--", "--help"}).output,
            "[0] 5 -- --help\n");
  EXPECT_EQ(gdakit({"run", "-n", "1", "--", "echo", "--", "a"}).output, "[0] -- a\n");
}

}  // namespace
}  // namespace gdakit::testing_job
