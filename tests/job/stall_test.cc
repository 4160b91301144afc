// A job whose kernel never ends: what is heard of its stall.
#include <signal.h>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/launched.h"
#include "tests/job/variable.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StalledJob : public testing::Test {
 private:
  const Variable watchdog_{"GDAKIT_WATCHDOG", "0.1"};
  const Variable device_{"GDAKIT_DEVICE", "cpu"};
};

TEST_F(StalledJob, SaysSoWhileItsKernelRuns) {
  Launched job({"run", "-n", "2", "sh", "-c", "exec " GDAKIT_STALL_PE " 2>&1"});
  EXPECT_THAT(job.line(), HasSubstr("[0] gdakit[pe 0] warn: PE 0 stalled: block 0, thread 0 "));
  EXPECT_THAT(job.line(), HasSubstr("word at 'flag' (8 bytes) ["));
  EXPECT_THAT(job.line(), HasSubstr("to blame: "));
  job.kill(SIGTERM);
  EXPECT_EQ(job.wait().output, "") << "it is said once";
  EXPECT_EQ(job.wait().status, 128 + SIGTERM);
}

// How long it takes until the PEs have met is the machine's to say.
TEST_F(StalledJob, HasSaidSoWhenItsTimeIsOver) {
  std::string errors;
  for (const char* const seconds : {"2", "8", "32"}) {
    errors = gdakit({"run", "-n", "2", "--timeout", seconds, GDAKIT_STALL_PE}).errors;
    if (errors.find("waited 0.1 s") != std::string::npos) break;  // longer on a busy machine
  }
  EXPECT_THAT(errors, AllOf(HasSubstr("PE 0 stalled: block 0, thread 0 waited 0.1 s"),
                            HasSubstr("the job did not end within")));
}

TEST_F(StalledJob, IsSilentWhereErrorsAloneAreLogged) {
  const Variable log("GDAKIT_LOG", "error");
  const Outcome job = gdakit({"run", "-n", "2", "--timeout", "2", GDAKIT_STALL_PE});
  EXPECT_EQ(job.errors, "gdakit run: the job did not end within 2 s; ending its PEs\n");
}

}  // namespace
}  // namespace gdakit::testing_job
