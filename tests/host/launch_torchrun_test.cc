// The variables of torchrun, made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/launch/launch.h"
#include "core/host/launch/tcp_listener.h"
#include "tests/host/launch_variables.h"

namespace gdakit::testing_launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Result<LaunchInfo> info_with(const Variables& changes) {
  return find_launch_info(started_with(kTorchrun, changes));
}

std::string error_with(const Variables& changes) {
  const Result<LaunchInfo> info = info_with(changes);
  return info ? "no error" : info.error().message();
}

TEST(Torchrun, ItsVariablesAreTaken) {
  const Result<LaunchInfo> info = info_with({});
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(info->launcher, LauncherChoice::torchrun);
  EXPECT_EQ(info->rank, 3);
  EXPECT_EQ(info->size, 8);
  EXPECT_EQ(info->local_rank, 1);
  EXPECT_EQ(info->root_host, "gpu7");
  EXPECT_TRUE(info->secret_is_derived);
}

TEST(Torchrun, Pe0ListensAwayFromTorchsOwnPort) {
  EXPECT_EQ(info_with({})->root_port, 29500 + 617);
  EXPECT_EQ(info_with({{"MASTER_PORT", "64918"}})->root_port, 65535);
  EXPECT_EQ(info_with({{"MASTER_PORT", "64919"}})->root_port, 64919 - 617);
  EXPECT_EQ(info_with({{"MASTER_PORT", "65535"}})->root_port, 65535 - 617);
}

TEST(Torchrun, RootAndSecretOfTheUserWin) {
  const Result<LaunchInfo> info = info_with({{"GDAKIT_ROOT", "other:77"},
                                             {"GDAKIT_SECRET", "000102030405060708090a0b0c0d0e0f"},
                                             {"MASTER_ADDR", ""},
                                             {"MASTER_PORT", ""}});
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(root_text(*info), "other:77");
  EXPECT_EQ(info->secret[15], 15);
  EXPECT_FALSE(info->secret_is_derived);
}

TEST(Torchrun, TheSecretIsTheJobsAndNoOtherJobs) {
  const JobSecret secret = info_with({})->secret;
  EXPECT_EQ(info_with({{"RANK", "0"}, {"LOCAL_RANK", "0"}})->secret, secret);
  for (const char* const name : {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"}) {
    EXPECT_NE(info_with({{name, "17"}})->secret, secret) << name;
  }
  // Of two nodes, the one whose worker failed counts a restart, and the other does not.
  EXPECT_EQ(info_with({{"TORCHELASTIC_RESTART_COUNT", "17"}})->secret, secret);
}

TEST(Torchrun, WhatIsThereByHalfIsAnError) {
  EXPECT_THAT(
      error_with({{"WORLD_SIZE", ""}}),
      AllOf(HasSubstr("RANK is set and WORLD_SIZE is not"), HasSubstr("GDAKIT_LAUNCHER=none")));
  EXPECT_THAT(error_with({{"MASTER_ADDR", ""}}),
              AllOf(HasSubstr("MASTER_ADDR is not set"), HasSubstr("GDAKIT_ROOT")));
  EXPECT_THAT(error_with({{"MASTER_PORT", ""}}), HasSubstr("MASTER_PORT is not set"));
}

TEST(Torchrun, WhatIsNoNumberIsAnError) {
  EXPECT_THAT(error_with({{"RANK", "8"}}), HasSubstr("RANK: \"8\" is not an integer from 0 to 7"));
  EXPECT_THAT(error_with({{"WORLD_SIZE", "many"}}), HasSubstr("WORLD_SIZE: \"many\""));
  EXPECT_THAT(error_with({{"LOCAL_RANK", "-1"}}), HasSubstr("LOCAL_RANK: \"-1\""));
  EXPECT_THAT(error_with({{"MASTER_PORT", "70000"}}), HasSubstr("MASTER_PORT: \"70000\""));
}

TEST(Torchrun, AJobOfOneNeedsNoMaster) {
  const Result<LaunchInfo> info =
      info_with({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", ""}, {"MASTER_PORT", ""}});
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(info->size, 1);
}

// A port of 127.0.0.1 that was free a moment ago, as MASTER_PORT for which it is PE 0's.
std::string master_for(int descriptor) {
  const int port = listener_address(descriptor)->port;
  return std::to_string(port > 1300 ? port - 617 : port + 617);
}

TEST(Torchrun, Pe0ListensAndTheOthersDoNot) {
  Result<UniqueFileDescriptor> taken = open_listener("127.0.0.1", 0);
  ASSERT_TRUE(taken);
  const std::string master = master_for(taken->get());
  const Options options = started_with(
      kTorchrun, {{"RANK", "0"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", master}});
  const Result<Launch> refused = start_launch(options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("PE 0 cannot listen"), HasSubstr("GDAKIT_ROOT"),
                    HasSubstr("Address already in use")));
  taken->reset();
  const Result<Launch> zero = start_launch(options);
  ASSERT_TRUE(zero) << zero.error().message();
  EXPECT_EQ(listener_address(*zero->info.listen_fd)->port, zero->info.root_port);
  const Result<Launch> three = start_launch(started_with(kTorchrun));
  ASSERT_TRUE(three);
  EXPECT_FALSE(three->listener);
}

}  // namespace
}  // namespace gdakit::testing_launch
