#include "core/host/launch/launch_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/bootstrap/bootstrap_open.h"
#include "core/host/launch/launch.h"

namespace gdakit {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Options launched() {
  Options options;
  options.rank = 0;
  options.size = 4;
  options.root = "node7:5000";
  options.secret = "000102030405060708090a0b0c0d0eFF";
  options.listen_fd = 9;
  options.timeout = std::chrono::seconds(5);
  return options;
}

TEST(LaunchInfo, WithoutALauncherThisIsAJobOfOne) {
  const Result<LaunchInfo> info = find_launch_info(Options{});
  ASSERT_TRUE(info);
  EXPECT_EQ(info->rank, 0);
  EXPECT_EQ(info->size, 1);
}

TEST(LaunchInfo, TheVariablesOfTheLauncherAreTaken) {
  const Result<LaunchInfo> info = find_launch_info(launched());
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(info->rank, 0);
  EXPECT_EQ(info->size, 4);
  EXPECT_EQ(info->root_host, "node7");
  EXPECT_EQ(info->root_port, 5000);
  EXPECT_EQ(info->secret[1], 1);
  EXPECT_EQ(info->secret[15], 0xff);
  EXPECT_EQ(info->listen_fd, 9);
  EXPECT_EQ(info->timeout, std::chrono::seconds(5));
}

TEST(LaunchInfo, OnlyPe0TakesTheListeningSocket) {
  Options options = launched();
  options.rank = 1;
  EXPECT_FALSE(find_launch_info(options)->listen_fd.has_value());
}

TEST(LaunchInfo, AnIpv6RootLosesItsBrackets) {
  Options options = launched();
  options.root = "[fe80::1]:77";
  const Result<LaunchInfo> info = find_launch_info(options);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->root_host, "fe80::1");
  EXPECT_EQ(info->root_port, 77);
}

TEST(LaunchInfo, WhatAJobOfSeveralNeedsIsNamedWhenItIsMissing) {
  Options options = launched();
  options.root.clear();
  EXPECT_THAT(find_launch_info(options).error().message(),
              AllOf(HasSubstr("GDAKIT_ROOT is not set"), HasSubstr("gdakit run")));
  options = launched();
  options.secret.clear();
  EXPECT_THAT(find_launch_info(options).error().message(), HasSubstr("GDAKIT_SECRET is not set"));
  options = launched();
  options.rank = 4;
  EXPECT_THAT(find_launch_info(options).error().message(), HasSubstr("GDAKIT_RANK"));
}

TEST(JobSecret, ItsTextIsReadBack) {
  const Result<JobSecret> secret = make_job_secret();
  ASSERT_TRUE(secret);
  EXPECT_EQ(*parse_job_secret(job_secret_text(*secret)), *secret);
  EXPECT_NE(*secret, *make_job_secret());
}

TEST(JobSecret, AnotherTextIsRefused) {
  EXPECT_FALSE(parse_job_secret(""));
  EXPECT_FALSE(parse_job_secret("000102030405060708090a0b0c0d0e"));
  EXPECT_FALSE(parse_job_secret("000102030405060708090a0b0c0d0e0g"));
}

TEST(OpenBootstrap, AJobOfOneNeedsNoNetwork) {
  const Result<std::unique_ptr<Bootstrap>> alone = open_bootstrap(Options{});
  ASSERT_TRUE(alone);
  EXPECT_EQ((*alone)->size(), 1);
  EXPECT_TRUE((*alone)->barrier());
}

}  // namespace
}  // namespace gdakit
