// Jobs of processes with traffic between them: they end right, and a PE that dies takes nothing
// along but the job.
#include <algorithm>

#include <gmock/gmock.h>

#include "tests/job/launched.h"

namespace gdakit::testing_job {
namespace {

using testing::HasSubstr;

std::vector<std::string> traffic_job(int size, std::vector<std::string> arguments) {
  std::vector<std::string> words = {"run", "-n", std::to_string(size), GDAKIT_TRAFFIC_PE};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

class Traffic : public testing::TestWithParam<int> {};

TEST_P(Traffic, BetweenProcessesIsExact) {
  const Outcome outcome = gdakit(traffic_job(GetParam(), {"20"}));
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  for (int pe = 0; pe < GetParam(); ++pe) {
    EXPECT_THAT(outcome.output, HasSubstr("PE " + std::to_string(pe) + " is done"));
  }
}

TEST_P(Traffic, EndsWithThePeThatIsKilledAndLeavesNothing) {
  const Outcome outcome = gdakit(traffic_job(GetParam(), {"20", "1"}));
  EXPECT_EQ(outcome.status, 128 + 9);
  EXPECT_THAT(outcome.errors, HasSubstr("PE 1 was killed by signal 9"));
  int pids = 0;
  for (const std::string& line : lines_of(outcome.output)) {
    const std::size_t at = line.find("pid ");
    if (at == std::string::npos) continue;
    ++pids;
    EXPECT_TRUE(ended_within(std::stoi(line.substr(at + 4)), 2000ms)) << line;
  }
  EXPECT_EQ(pids, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Pes, Traffic, testing::Values(2, 4, 8));

}  // namespace
}  // namespace gdakit::testing_job
