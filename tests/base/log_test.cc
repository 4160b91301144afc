#include "core/base/log.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace gdakit {
namespace {

TEST(Log, ALineNamesThePeAndTheLevel) {
  EXPECT_EQ(Log(LogLevel::debug, 2).format(LogLevel::warn, "slow"), "gdakit[pe 2] warn: slow\n");
  EXPECT_EQ(Log(LogLevel::debug).format(LogLevel::error, "no device"), "gdakit error: no device\n");
}

TEST(Log, EveryLineOfAMessageHasThePrefix) {
  EXPECT_EQ(Log(LogLevel::info, 0).format(LogLevel::info, "first\nsecond\n"),
            "gdakit[pe 0] info: first\ngdakit[pe 0] info: second\n");
}

TEST(Log, ALevelShowsItselfAndThoseBeforeIt) {
  testing::internal::CaptureStderr();
  const Log log(LogLevel::warn);
  log.error("e");
  log.warn("w");
  log.info("i");
  log.debug("d");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "gdakit error: e\ngdakit warn: w\n");
}

TEST(Log, LinesOfSeveralThreadsDoNotMix) {
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int pe = 0; pe < kThreads; ++pe) {
    threads.emplace_back([pe] {
      for (int i = 0; i < kLines; ++i) Log(LogLevel::warn, pe).warn(std::string(100, 'x'));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::istringstream lines(testing::internal::GetCapturedStderr());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_EQ(line.substr(0, 10), "gdakit[pe ");
    EXPECT_EQ(line.substr(11), "] warn: " + std::string(100, 'x'));
  }
  EXPECT_EQ(count, kThreads * kLines);
}

}  // namespace
}  // namespace gdakit
