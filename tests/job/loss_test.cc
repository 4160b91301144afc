// Jobs that lose a PE while the others wait in a kernel: they hear of it, and who it is. On the
// device that GDAKIT_TEST_DEVICE names, for tests/gpu has these tests, too.
#include <string>
#include <tuple>

#include <gmock/gmock.h>

#include "tests/job/launched.h"
#include "tests/job/variable.h"

namespace gdakit::testing_job {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// The variables of a job whose PEs reach each other by `way`: nic, direct or udp.
class By {
 public:
  explicit By(const std::string& way)
      : way_(way == "udp" ? "GDAKIT_NIC_ADDRESS" : "GDAKIT_TRANSPORT",
             way == "udp" ? "127.0.0.0/8" : way) {}

 private:
  Variable device_{"GDAKIT_DEVICE", GDAKIT_TEST_DEVICE};
  Variable way_;
  Variable nic_timeout_{"GDAKIT_NIC_TIMEOUT", "0.5"};
};

// What is waited for, and by which way the PEs reach each other.
class Loss : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  static std::string wait() { return std::get<0>(GetParam()); }

 private:
  By way_{std::get<1>(GetParam())};
  Variable watchdog_{"GDAKIT_WATCHDOG", "0"};
};

// The PE leaves with status 0, so that the launcher ends nothing.
TEST_P(Loss, EndsTheWaitsOfTheOthers) {
  const Outcome outcome = gdakit({"run", "-n", "3", GDAKIT_LOSS_PE, "left", wait()});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  for (int pe = 0; pe < 2; ++pe) {
    const std::string name = "PE " + std::to_string(pe) + ": ";
    const std::string says = ", PE 2; the launch says: PE 2 is gone: the connection was closed";
    EXPECT_THAT(outcome.output, AnyOf(HasSubstr(name + "peer_lost" + says),
                                      HasSubstr(name + "queue_error" + says)));
  }
}

// Puts to a direct peer are stores, which nobody refuses.
INSTANTIATE_TEST_SUITE_P(Waits, Loss,
                         testing::Combine(testing::Values("word", "barrier", "lock", "message"),
                                          testing::Values("nic", "direct", "udp")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::get<1>(test.param);
                         });

INSTANTIATE_TEST_SUITE_P(Queues, Loss,
                         testing::Combine(testing::Values("put"), testing::Values("nic", "udp")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::get<1>(test.param);
                         });

class GoOn : public testing::TestWithParam<const char*> {
 private:
  By way_{GetParam()};
  Variable loss_{"GDAKIT_PEER_LOSS", "go-on"};
};

TEST_P(GoOn, WithoutThePeThatIsKilled) {
  const Outcome outcome = gdakit({"run", "-n", "3", GDAKIT_GO_ON_PE});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors,
              HasSubstr("PE 2 was killed by signal 9 (Killed); the others go on without it"));
  EXPECT_THAT(outcome.output, HasSubstr("call acknowledge_losses to go on without PE 2"));
  for (int pe = 0; pe < 2; ++pe) {
    EXPECT_THAT(outcome.output, HasSubstr("PE " + std::to_string(pe) + " is done"));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, GoOn, testing::Values("nic", "direct", "udp"),
                         [](const auto& test) { return std::string(test.param); });

// Of a job that goes on: who ends it, and with which status.
class RunThatGoesOn : public testing::Test {
 private:
  Variable loss_{"GDAKIT_PEER_LOSS", "go-on"};
};

TEST_F(RunThatGoesOn, IsEndedByPe0) {
  const Outcome outcome =
      gdakit({"run", "-n", "2", "sh", "-c", "[ $GDAKIT_RANK = 0 ] && exit 3; sleep 60"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.errors, HasSubstr("PE 0 ended with status 3; ending the other PEs"));
}

TEST_F(RunThatGoesOn, HasTheStatusOfThePeThatFails) {
  const Outcome outcome =
      gdakit({"run", "-n", "3", "sh", "-c", "[ $GDAKIT_RANK = 0 ] && sleep 4; exit $GDAKIT_RANK"});
  EXPECT_THAT(outcome.status, AnyOf(1, 2));
  EXPECT_THAT(outcome.errors, HasSubstr("PE 1 ended with status 1; the others go on without it"));
  EXPECT_THAT(outcome.errors, HasSubstr("PE 2 ended with status 2; the others go on without it"));
}

}  // namespace
}  // namespace gdakit::testing_job
