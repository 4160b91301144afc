// The variables of srun, made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/launch/launch.h"
#include "tests/host/launch_variables.h"

namespace gdakit::testing_launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Result<LaunchInfo> info_with(const Variables& changes) {
  return find_launch_info(started_with(kSlurm, changes));
}

std::string error_with(const Variables& changes) {
  const Result<LaunchInfo> info = info_with(changes);
  return info ? "no error" : info.error().message();
}

TEST(Slurm, TheVariablesOfATaskAreTaken) {
  const Result<LaunchInfo> info = info_with({});
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(info->launcher, LauncherChoice::slurm);
  EXPECT_EQ(info->rank, 5);
  EXPECT_EQ(info->size, 8) << "the step's, not the job's";
  EXPECT_EQ(info->local_rank, 1);
  EXPECT_EQ(info->root_host, "gpu07");
  EXPECT_EQ(info->root_port, 20000 + (1234 * 16 + 2) % 12000);
  EXPECT_TRUE(info->secret_is_derived);
}

TEST(Slurm, ThePortIsBelowThoseOfTheSystem) {
  for (const char* const job : {"1", "749", "750", "67043328", "4294967295"}) {
    const Result<LaunchInfo> info = info_with({{"SLURM_JOB_ID", job}});
    ASSERT_TRUE(info);
    EXPECT_GE(info->root_port, 20000);
    EXPECT_LT(info->root_port, 32000);
  }
}

TEST(Slurm, TheFirstNodeIsFoundInEveryFormOfAList) {
  const std::pair<const char*, const char*> lists[] = {{"a,b", "a"},
                                                       {"n[3,5]", "n3"},
                                                       {"gpu[007-100]", "gpu007"},
                                                       {"r[1-2]n[3-4]", "r1n3"},
                                                       {"r[1-2]n4,x", "r1n4"},
                                                       {"rack1-gpu[2-3]", "rack1-gpu2"}};
  for (const auto& [list, first] : lists) {
    EXPECT_EQ(info_with({{"SLURM_STEP_NODELIST", list}})->root_host, first) << list;
  }
  EXPECT_EQ(info_with({{"SLURM_STEP_NODELIST", ""}})->root_host, "gpu01") << "the job's";
}

TEST(Slurm, AListWithoutAFirstNodeIsAnError) {
  for (const char* const list : {",a", "[", "[]", "[,3]"}) {
    EXPECT_THAT(error_with({{"SLURM_STEP_NODELIST", list}}),
                AllOf(HasSubstr("names no first node"), HasSubstr("GDAKIT_ROOT=host:port")))
        << list;
  }
  EXPECT_EQ(error_with({{"SLURM_STEP_NODELIST", "["}, {"GDAKIT_ROOT", "gpu08:4000"}}), "no error");
}

TEST(Slurm, AStepOfOneNodeMeetsOnTheLoopback) {
  EXPECT_EQ(info_with({{"SLURM_STEP_NODELIST", "gpu07"}})->root_host, "127.0.0.1");
}

TEST(Slurm, TheSecretIsTheStepsAndNoOtherSteps) {
  const JobSecret secret = info_with({})->secret;
  EXPECT_EQ(info_with({{"SLURM_PROCID", "7"}, {"SLURM_LOCALID", "0"}})->secret, secret);
  EXPECT_NE(info_with({{"SLURM_STEP_ID", "3"}})->secret, secret);
  EXPECT_NE(info_with({{"SLURM_JOB_ID", "1235"}})->secret, secret);
}

TEST(Slurm, RootAndSecretOfTheUserWin) {
  const Result<LaunchInfo> info = info_with(
      {{"GDAKIT_ROOT", "other:77"}, {"GDAKIT_SECRET", "000102030405060708090a0b0c0d0e0f"}});
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(root_text(*info), "other:77");
  EXPECT_FALSE(info->secret_is_derived);
}

TEST(Slurm, TaskZeroOnAnotherNodeSaysSo) {
  EXPECT_THAT(error_with({{"SLURM_PROCID", "0"}}),
              AllOf(HasSubstr("task 0 of this step is on gpu08"), HasSubstr("first node, gpu07"),
                    HasSubstr("GDAKIT_ROOT=gpu08:")));
  EXPECT_EQ(error_with({{"SLURM_PROCID", "0"}, {"SLURMD_NODENAME", "gpu07"}}), "no error");
  EXPECT_EQ(error_with({{"SLURM_PROCID", "0"}, {"GDAKIT_ROOT", "gpu08:4000"}}), "no error");
}

TEST(Slurm, WhatIsThereByHalfIsAnError) {
  EXPECT_THAT(error_with({{"SLURM_STEP_NUM_TASKS", ""}, {"SLURM_NTASKS", ""}}),
              AllOf(HasSubstr("SLURM_STEP_NUM_TASKS is not set"), HasSubstr("srun"),
                    HasSubstr("GDAKIT_LAUNCHER=none")));
  EXPECT_THAT(error_with({{"SLURM_JOB_ID", ""}}), HasSubstr("SLURM_JOB_ID is not set"));
  EXPECT_THAT(error_with({{"SLURM_STEP_NODELIST", ""}, {"SLURM_JOB_NODELIST", ""}}),
              AllOf(HasSubstr("SLURM_STEP_NODELIST is not set"), HasSubstr("GDAKIT_ROOT")));
  EXPECT_THAT(error_with({{"SLURM_PROCID", "8"}}), HasSubstr("SLURM_PROCID: \"8\""));
}

TEST(Slurm, ABatchScriptIsAJobOfOneWithAWarning) {
  for (const char* const step : {"", "4294967291"}) {  // the second is what batch steps are called
    const Result<Launch> launch = start_launch(started_with(kSlurm, {{"SLURM_STEP_ID", step}}));
    ASSERT_TRUE(launch) << launch.error().message();
    EXPECT_EQ(launch->info.launcher, LauncherChoice::none);
    EXPECT_EQ(launch->info.size, 1);
    EXPECT_THAT(launch->warnings,
                testing::ElementsAre(AllOf(HasSubstr("SLURM_NTASKS is 16"), HasSubstr("srun"))));
  }
}

TEST(Slurm, AStepsSizeAloneIsAWarning) {
  const Result<Launch> launch = start_launch(started_with({}, {{"SLURM_STEP_NUM_TASKS", "2"}}));
  ASSERT_TRUE(launch) << launch.error().message();
  EXPECT_THAT(launch->warnings, testing::ElementsAre(HasSubstr("SLURM_STEP_NUM_TASKS is 2")));
}

TEST(Slurm, AnMpiLauncherInsideAStepIsNotTakenForTheStep) {
  EXPECT_THAT(error_with({{"PMI_RANK", "1"}, {"PMI_SIZE", "64"}}),
              AllOf(HasSubstr("PMI_RANK"), HasSubstr("gdakit_mpi.h")));
  EXPECT_EQ(error_with({{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}}), "no error") << "srun --mpi=pmi2";
}

}  // namespace
}  // namespace gdakit::testing_launch
