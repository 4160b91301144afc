// Jobs of processes with traffic between them: they end right, and a PE that dies takes nothing
// along but the job.
#include <algorithm>
#include <tuple>

#include <gmock/gmock.h>

#include "tests/job/counter_samples.h"
#include "tests/job/launchers.h"
#include "tests/job/variable.h"
#include "tests/support/settings.h"
#include "tools/counters_reader.h"

namespace gdakit::testing_job {
namespace {

using testing::HasSubstr;

// How many PEs, and how payload goes between them: as GDAKIT_PAYLOAD says, or over UDP.
class Traffic : public testing::TestWithParam<std::tuple<int, const char*>> {
 protected:
  void SetUp() override {
    if (const auto missing = launcher_missing(launcher_)) GTEST_SKIP() << *missing;
  }

  int size() const { return std::get<0>(GetParam()); }
  Outcome run(const std::vector<std::string>& arguments) const {
    std::vector<std::string> words = {GDAKIT_TRAFFIC_PE};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return command(launch_words(launcher_, size(), words));
  }

  // Of all PEs' NICs, in a job that ends well.
  NicCounters run_and_count(const std::vector<std::string>& arguments) const {
    const TemporaryDirectory directory;
    const Variable counters("GDAKIT_COUNTERS", directory.path());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.errors, "");
    const auto pes = tools::read_counters(directory.path());
    EXPECT_TRUE(pes && static_cast<int>(pes->size()) == size());
    NicCounters sum;
    if (!pes) return sum;
    for (const PeCounters& pe : *pes) sum += pe.nic;
    return sum;
  }

  const std::string launcher_ = test::launcher();

 private:
  static bool over_udp() { return std::get<1>(GetParam()) == std::string("udp"); }

  Variable device_{"GDAKIT_DEVICE", "cpu"};
  Variable way_{over_udp() ? "GDAKIT_NIC_ADDRESS" : "GDAKIT_PAYLOAD",
                over_udp() ? "127.0.0.0/8" : std::get<1>(GetParam())};
};

TEST_P(Traffic, BetweenProcessesIsExact) {
  const Outcome outcome = run({"20"});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
  for (int pe = 0; pe < size(); ++pe) {
    EXPECT_THAT(outcome.output, HasSubstr("PE " + std::to_string(pe) + " is done"));
  }
}

TEST_P(Traffic, IsExactInAHeapThatGrows) {
  const Variable arena("GDAKIT_SYMMETRIC_SIZE", "64K");
  const Variable chunk("GDAKIT_HEAP_CHUNK", "256K");
  const Outcome outcome = run({"20"});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
}

TEST_P(Traffic, EndsWithThePeThatIsKilledAndLeavesNothing) {
  const Outcome outcome = run({"20", "1"});
  EXPECT_NE(outcome.status, 0);
  if (launcher_ == "gdakit") {
    EXPECT_EQ(outcome.status, 128 + 9);
    EXPECT_THAT(outcome.errors, HasSubstr("PE 1 was killed by signal 9"));
  }
  int pids = 0;
  for (const std::string& line : lines_of(outcome.output)) {
    const std::size_t at = line.find("pid ");
    if (at == std::string::npos) continue;
    ++pids;
    EXPECT_TRUE(ended_within(std::stoi(line.substr(at + 4)), 5000ms)) << line;
  }
  EXPECT_EQ(pids, size());
}

// Payload by reference, by value, and over UDP.
TEST_P(Traffic, IsExactOnABadNetwork) {
  const Variable faults("GDAKIT_NIC_FAULTS",
                        "drop=2%,repeat=2%,reorder=5%,corrupt=1%,delay=0us..200us");
  const Outcome outcome = run({"5"});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
}

TEST_P(Traffic, IsExactWhereTheNetworkIsCongested) {
  const Variable congestion("GDAKIT_NIC_CONGESTION", "on");
  const Variable faults("GDAKIT_NIC_FAULTS", "mark=20%,drop=1%");
  const NicCounters counted = run_and_count({"5"});
  EXPECT_GT(counted.np_ecn_marked_roce_packets, 0u);
  EXPECT_GT(counted.np_cnp_sent, 0u);
  EXPECT_GT(counted.rp_cnp_handled, 0u);
}

TEST_P(Traffic, IsNotMarkedWithoutCongestionControl) {
  const Variable faults("GDAKIT_NIC_FAULTS", "mark=20%");
  const NicCounters counted = run_and_count({"5"});
  EXPECT_EQ(counted.np_ecn_marked_roce_packets + counted.np_cnp_sent + counted.rp_cnp_handled, 0u);
}

INSTANTIATE_TEST_SUITE_P(Pes, Traffic,
                         testing::Combine(testing::Values(2, 4, 8),
                                          testing::Values("direct", "host", "udp")),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "_" +
                                  std::get<1>(test.param);
                         });

// Packets over UDP that say who made them.
class TaggedTraffic : public testing::Test {
 protected:
  static Outcome run(const char* launcher) {
    return command(launch_words(launcher, 4, {GDAKIT_TRAFFIC_PE, "20"}));
  }

 private:
  Variable device_{"GDAKIT_DEVICE", "cpu"};
  Variable way_{"GDAKIT_NIC_ADDRESS", "127.0.0.0/8"};
  Variable tags_{"GDAKIT_NIC_TAGS", "on"};
};

TEST_F(TaggedTraffic, IsExact) {
  const Outcome outcome = run("gdakit");
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
}

TEST_F(TaggedTraffic, IsRefusedWhereOthersMayKnowTheSecret) {
  if (const auto missing = launcher_missing("torchrun")) GTEST_SKIP() << *missing;
  const Outcome refused = run("torchrun");
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.errors, HasSubstr("GDAKIT_NIC_TAGS"));
  EXPECT_THAT(refused.errors, HasSubstr("set GDAKIT_SECRET"));
  const Variable secret("GDAKIT_SECRET", "00112233445566778899aabbccddeeff");
  const Outcome outcome = run("torchrun");
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

// Peers reach each other's heaps without the NIC, also what the heaps have grown by.
TEST(DirectTransport, OfProcessesIsExactInAHeapThatGrows) {
  const Variable device("GDAKIT_DEVICE", "cpu");
  const Variable transport("GDAKIT_TRANSPORT", "direct");
  const Variable log("GDAKIT_LOG", "info");
  const Variable arena("GDAKIT_SYMMETRIC_SIZE", "64K");
  const Variable chunk("GDAKIT_HEAP_CHUNK", "256K");
  const Outcome outcome = command(launch_words("gdakit", 4, {GDAKIT_TRAFFIC_PE, "20"}));
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("PEs 0, 1, 2, 3: loads, stores and atomics"));
  for (int pe = 0; pe < 4; ++pe) {
    EXPECT_THAT(outcome.output, HasSubstr("PE " + std::to_string(pe) + " is done"));
  }
}

TEST(DirectTransport, EndsWithThePeThatIsKilled) {
  const Variable device("GDAKIT_DEVICE", "cpu");
  const Variable transport("GDAKIT_TRANSPORT", "direct");
  const Outcome outcome = command(launch_words("gdakit", 4, {GDAKIT_TRAFFIC_PE, "20", "1"}));
  EXPECT_EQ(outcome.status, 128 + 9);
  EXPECT_THAT(outcome.errors, HasSubstr("PE 1 was killed by signal 9"));
}

TEST(Payload, ThePesMustAgreeOnItsWay) {
  const Variable device("GDAKIT_DEVICE", "cpu");
  const std::string traffic = GDAKIT_TRAFFIC_PE;
  const Outcome outcome = gdakit(
      shell_job(2, "[ $GDAKIT_RANK = 1 ] && export GDAKIT_PAYLOAD=host; exec " + traffic + " 2"));
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("GDAKIT_PAYLOAD: PE 1 gave host where PE 0 gave direct"));
}

TEST(NicFaults, ThatAreNoneNameThePart) {
  const Variable device("GDAKIT_DEVICE", "cpu");
  const Variable faults("GDAKIT_NIC_FAULTS", "drop=2%,lose=5%");
  const Outcome outcome = command(launch_words("gdakit", 2, {GDAKIT_TRAFFIC_PE, "2"}));
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("GDAKIT_NIC_FAULTS: "));
  EXPECT_THAT(outcome.errors, HasSubstr("lose=5%"));
}

TEST(NicAddress, AllPesHaveOneOrNone) {
  const Variable device("GDAKIT_DEVICE", "cpu");
  const std::string traffic = GDAKIT_TRAFFIC_PE;
  const Outcome outcome = gdakit(shell_job(
      2, "[ $GDAKIT_RANK = 1 ] && export GDAKIT_NIC_ADDRESS=127.0.0.1; exec " + traffic + " 2"));
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("GDAKIT_NIC_ADDRESS: PE 1 gave one where PE 0 gave none"));
}

TEST(NicAddress, ThatIsNoneNamesWhatThereIs) {
  const Variable device("GDAKIT_DEVICE", "cpu");
  const Variable address("GDAKIT_NIC_ADDRESS", "nowhere");
  const Outcome outcome = command(launch_words("gdakit", 2, {GDAKIT_TRAFFIC_PE, "2"}));
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("GDAKIT_NIC_ADDRESS: \"nowhere\" is no address of a NIC"));
  EXPECT_THAT(outcome.errors, HasSubstr("lo (127.0.0.1)"));
}

// PEs of IPv4 and IPv6 do not reach each other.
TEST(NicAddress, OfAnotherKindIsRefused) {
  const Variable device("GDAKIT_DEVICE", "cpu");
  const std::string traffic = GDAKIT_TRAFFIC_PE;
  const Outcome outcome = gdakit(shell_job(2,
                                           "[ $GDAKIT_RANK = 1 ] && A=::1 || A=127.0.0.1; "
                                           "GDAKIT_NIC_ADDRESS=$A exec " +
                                               traffic + " 2"));
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("give all NICs addresses of IPv4, or all of IPv6"));
}

}  // namespace
}  // namespace gdakit::testing_job
