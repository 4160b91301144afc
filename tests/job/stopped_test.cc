// A job one of whose processes is stopped for three watchdogs, and goes on.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/launched.h"
#include "tests/job/variable.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class StoppedJob : public testing::TestWithParam<int> {
 private:
  const Variable watchdog_{"GDAKIT_WATCHDOG", "2"};
  const Variable device_{"GDAKIT_DEVICE", "cpu"};
};

// The PE that is stopped waits, too, and for a word that comes after it goes on.
TEST_P(StoppedJob, GoesOnAndSaysWhoIsStopped) {
  const std::string stopped = std::to_string(GetParam());
  const Outcome job = gdakit({"run", "-n", "2", GDAKIT_WAITING_PE, stopped, "6"});
  EXPECT_EQ(job.status, 0) << job.errors;
  const std::string who = "PE " + stopped + " (process ";
  EXPECT_THAT(job.errors, AllOf(HasSubstr(who), HasSubstr("is stopped by a signal"),
                                HasSubstr("PE " + stopped + " goes on after ")));
  EXPECT_EQ(job.errors.find(who), job.errors.rfind(who)) << job.errors;
  EXPECT_THAT(job.errors, Not(HasSubstr("stalled")));
}

// As a sanitizer stops a process that ends, to look for leaks.
TEST_P(StoppedJob, IsSilentAboutAShortStop) {
  const Outcome job =
      gdakit({"run", "-n", "2", GDAKIT_WAITING_PE, std::to_string(GetParam()), "1"});
  EXPECT_EQ(job.status, 0);
  EXPECT_EQ(job.errors, "");
}

INSTANTIATE_TEST_SUITE_P(EachPe, StoppedJob, testing::Values(0, 1));

}  // namespace
}  // namespace gdakit::testing_job
