// The put of a PE's own threads, on the soft ConnectX that `gdakit verbs` gives this program.
#include "tools/check/put_by_pe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::tools::check {
namespace {

using testing::HasSubstr;

TEST(CheckPutByPe, ArrivesWhole) {
  const Result<void> done = put_by_pe(Options(), {.nic = "mlx5_1", .gpu = {}});
  EXPECT_TRUE(done) << done.error().message();
}

TEST(CheckPutByPe, ANicThatIsNotThereIsNamed) {
  const Result<void> done = put_by_pe(Options(), {.nic = "mlx5_7", .gpu = {}});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("mlx5_7"));
}

// Its own run, on a fabric that loses all packets.
TEST(CheckPutByPe, DISABLED_WhatIsLostIsTold) {
  Options options;
  options.nic_timeout = std::chrono::milliseconds(100);
  const Result<void> done = put_by_pe(options, {.nic = "mlx5_0", .gpu = {}});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("transport retry exceeded"));
}

}  // namespace
}  // namespace gdakit::tools::check
