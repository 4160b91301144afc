// PEs as processes: on one GPU with MPS and without it, and on two GPUs of a host. Payload stays on
// the GPUs.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/host/gpu/gpu.h"
#include "tests/job/launched.h"
#include "tests/job/variable.h"

namespace gdakit::testing_job {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Setting {
  const char* name;
  int pes;
  const char* gpus;
  const char* mps;
  int rounds;  // of traffic; without MPS every operation takes milliseconds
};
void PrintTo(const Setting& setting, std::ostream* to) { *to << setting.name; }

class Processes : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    const std::string gpus = GetParam().gpus;
    const std::size_t visible = report_gpus().gpus.size();
    if (gpus == "0,1" && visible < 2) {
      GTEST_SKIP() << "needs two GPUs; this machine shows " << visible;
    }
    if (std::string(GetParam().mps) == "on") {
      const Outcome trial = gdakit({"run", "-n", "1", "--mps", "on", "true"});
      if (trial.errors.find("there is no nvidia-cuda-mps-control") != std::string::npos) {
        GTEST_SKIP() << trial.errors;
      }
      ASSERT_EQ(trial.status, 0) << trial.errors;
    }
  }

  std::vector<std::string> job(std::vector<std::string> command) const {
    const Setting& setting = GetParam();
    std::vector<std::string> words = {"run",       "-n",         std::to_string(setting.pes),
                                      "--gpus",    setting.gpus, "--mps",
                                      setting.mps, "--timeout",  "100"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  std::string rounds() const { return std::to_string(GetParam().rounds); }

  void expect_traffic() const {
    const Outcome outcome = gdakit(job({GDAKIT_TRAFFIC_PE, rounds()}));
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    for (int pe = 0; pe < GetParam().pes; ++pe) {
      EXPECT_THAT(outcome.output, HasSubstr("PE " + std::to_string(pe) + " is done on GPU"));
    }
    EXPECT_THAT(outcome.errors, Not(HasSubstr("through host memory")));
  }
};

TEST_P(Processes, EveryPeReachesItsNeighbour) {
  const Outcome outcome = gdakit(job({GDAKIT_RING_SHIFT}));
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  const int n = GetParam().pes;
  for (int pe = 0; pe < n; ++pe) {
    EXPECT_THAT(outcome.output, HasSubstr("PE " + std::to_string(pe) + " of " + std::to_string(n) +
                                          " received " + std::to_string((pe + n - 1) % n)));
  }
}

TEST_P(Processes, TrafficIsExact) { expect_traffic(); }

TEST_P(Processes, TrafficIsExactInAHeapThatGrows) {
  const Variable arena("GDAKIT_SYMMETRIC_SIZE", "2M");
  const Variable chunk("GDAKIT_HEAP_CHUNK", "2M");
  expect_traffic();
}

TEST_P(Processes, TrafficThroughHostMemoryIsExactToo) {
  const Variable payload("GDAKIT_PAYLOAD", "host");
  const Outcome outcome = gdakit(job({GDAKIT_TRAFFIC_PE, rounds()}));
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

TEST_P(Processes, APeThatIsKilledEndsTheJobAndNothingIsLeft) {
  const Outcome outcome = gdakit(job({GDAKIT_TRAFFIC_PE, rounds(), "1"}));
  EXPECT_EQ(outcome.status, 128 + 9);
  EXPECT_THAT(outcome.errors, HasSubstr("PE 1 was killed by signal 9"));
  for (const std::string& line : lines_of(outcome.output)) {
    const std::size_t at = line.find("pid ");
    if (at != std::string::npos) {
      EXPECT_TRUE(ended_within(std::stoi(line.substr(at + 4)), 5s)) << line;
    }
  }
}

// Kernels of both PEs wait for one another meanwhile, more than two watchdogs.
TEST_P(Processes, APeThatIsStoppedIsWaitedFor) {
  if (GetParam().pes != 2) GTEST_SKIP() << "the program is for two PEs";
  const Variable watchdog("GDAKIT_WATCHDOG", "2");
  for (const std::string stopped : {"0", "1"}) {
    const Outcome outcome = gdakit(job({GDAKIT_INTERRUPTED_PE, stopped, "5"}));
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr("PE " + stopped + " (process "));
    EXPECT_THAT(outcome.errors, HasSubstr(" is stopped by a signal"));
    EXPECT_THAT(outcome.errors, Not(HasSubstr("stalled")));
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, Processes,
                         testing::Values(Setting{"Two_Mps", 2, "0", "on", 20},
                                         Setting{"Four_Mps", 4, "0", "on", 20},
                                         Setting{"Two_NoMps", 2, "0", "off", 4},
                                         Setting{"Four_NoMps", 4, "0", "off", 4},
                                         Setting{"TwoGpus", 2, "0,1", "off", 20},
                                         Setting{"FourOnTwoGpus_Mps", 4, "0,1", "on", 20}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ProcessesWithoutMps, AreToldWhatItCosts) {
  const Outcome outcome =
      gdakit({"run", "-n", "2", "--gpus", "0", "--mps", "off", GDAKIT_RING_SHIFT});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("2 PEs share GPU 0 without MPS"));
}

}  // namespace
}  // namespace gdakit::testing_job
