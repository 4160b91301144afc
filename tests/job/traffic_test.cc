// Jobs of processes with traffic between them: they end right, and a PE that dies takes nothing
// along but the job.
#include <algorithm>
#include <tuple>

#include <gmock/gmock.h>

#include "tests/job/launched.h"
#include "tests/job/variable.h"

namespace gdakit::testing_job {
namespace {

using testing::HasSubstr;

std::vector<std::string> traffic_job(int size, std::vector<std::string> arguments) {
  std::vector<std::string> words = {"run", "-n", std::to_string(size), GDAKIT_TRAFFIC_PE};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

// How many PEs, and how payload goes between them.
class Traffic : public testing::TestWithParam<std::tuple<int, const char*>> {
 protected:
  int size() const { return std::get<0>(GetParam()); }

 private:
  Variable device_{"GDAKIT_DEVICE", "cpu"};
  Variable payload_{"GDAKIT_PAYLOAD", std::get<1>(GetParam())};
};

TEST_P(Traffic, BetweenProcessesIsExact) {
  const Outcome outcome = gdakit(traffic_job(size(), {"20"}));
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
  for (int pe = 0; pe < size(); ++pe) {
    EXPECT_THAT(outcome.output, HasSubstr("PE " + std::to_string(pe) + " is done"));
  }
}

TEST_P(Traffic, IsExactInAHeapThatGrows) {
  const Variable arena("GDAKIT_SYMMETRIC_SIZE", "64K");
  const Variable chunk("GDAKIT_HEAP_CHUNK", "256K");
  const Outcome outcome = gdakit(traffic_job(size(), {"20"}));
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
}

TEST_P(Traffic, EndsWithThePeThatIsKilledAndLeavesNothing) {
  const Outcome outcome = gdakit(traffic_job(size(), {"20", "1"}));
  EXPECT_EQ(outcome.status, 128 + 9);
  EXPECT_THAT(outcome.errors, HasSubstr("PE 1 was killed by signal 9"));
  int pids = 0;
  for (const std::string& line : lines_of(outcome.output)) {
    const std::size_t at = line.find("pid ");
    if (at == std::string::npos) continue;
    ++pids;
    EXPECT_TRUE(ended_within(std::stoi(line.substr(at + 4)), 2000ms)) << line;
  }
  EXPECT_EQ(pids, size());
}

INSTANTIATE_TEST_SUITE_P(
    Pes, Traffic, testing::Combine(testing::Values(2, 4, 8), testing::Values("direct", "host")),
    [](const auto& test) {
      return std::to_string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
    });

TEST(Payload, ThePesMustAgreeOnItsWay) {
  const Variable device("GDAKIT_DEVICE", "cpu");
  const std::string traffic = GDAKIT_TRAFFIC_PE;
  const Outcome outcome = gdakit(
      shell_job(2, "[ $GDAKIT_RANK = 1 ] && export GDAKIT_PAYLOAD=host; exec " + traffic + " 2"));
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("GDAKIT_PAYLOAD: PE 1 gave host where PE 0 gave direct"));
}

}  // namespace
}  // namespace gdakit::testing_job
