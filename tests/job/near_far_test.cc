// Jobs between hosts, several PEs on each: who reaches whom by which wire, as their counters say.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/job/counter_samples.h"
#include "tests/job/launched.h"
#include "tests/job/variable.h"
#include "tools/counters_reader.h"

namespace gdakit::testing_job {
namespace {

using testing::HasSubstr;

constexpr int kSkipped = 77;  // of scripts/hosts

// PEs 0 and 1 are on one host, 2 and 3 on another.
class NearAndFar : public testing::Test {
 protected:
  static Outcome run(int hosts, const std::string& rounds) {
    return run(hosts, {GDAKIT_TRAFFIC_PE, rounds});
  }
  static Outcome run(int hosts, const std::vector<std::string>& program) {
    std::vector<std::string> words = {
        GDAKIT_SOURCES "/scripts/hosts", "--hosts", std::to_string(hosts), "--pes", "4", "--"};
    words.insert(words.end(), program.begin(), program.end());
    return command(words);
  }
  // Every PE's packets to PEs of other hosts went over UDP, and those to its own host as `near`
  // says.
  void expect_ways(const std::string& near) const {
    const auto pes = tools::read_counters(directory_.path());
    ASSERT_TRUE(pes) << pes.error().message();
    ASSERT_EQ(pes->size(), 4u);
    for (const PeCounters& pe : *pes) {
      std::uint64_t near_packets = 0, far_packets = 0;
      for (const PeCounters::Queue& queue : pe.queues) {
        ASSERT_TRUE(queue.position);
        const bool is_near = queue.position->peer / 2 == pe.pe / 2;
        const bool over_udp = !is_near || near == "UDP";
        const QueueCounters& counters = queue.counters;
        EXPECT_EQ(counters.udp_packets_sent, over_udp ? counters.packets_sent : 0u)
            << "PE " << pe.pe << " to PE " << queue.position->peer;
        (is_near ? near_packets : far_packets) += counters.packets_sent;
      }
      EXPECT_GT(near_packets, 0u);
      EXPECT_GT(far_packets, 0u);
    }
  }

  const TemporaryDirectory directory_;

 private:
  Variable device_{"GDAKIT_DEVICE", "cpu"};
  Variable counters_{"GDAKIT_COUNTERS", directory_.path()};
};

TEST_F(NearAndFar, MeetInMemoryAndOverUdp) {
  const Variable log("GDAKIT_LOG", "info");
  const Outcome job = run(2, "10");
  if (job.status == kSkipped) GTEST_SKIP() << job.errors;
  ASSERT_EQ(job.status, 0) << job.errors;
  EXPECT_THAT(job.errors, HasSubstr("gdakit[pe 0] info: the NIC reaches PEs 0, 1 through shared "
                                    "memory, PEs 2, 3 over UDP"));
  EXPECT_THAT(job.errors, HasSubstr("gdakit[pe 3] info: the NIC reaches PEs 2, 3 through shared "
                                    "memory, PEs 0, 1 over UDP"));
  expect_ways("memory");
}

TEST_F(NearAndFar, MeetThroughHostMemoryAndOverUdp) {
  const Variable payload("GDAKIT_PAYLOAD", "host");
  const Outcome job = run(2, "10");
  if (job.status == kSkipped) GTEST_SKIP() << job.errors;
  ASSERT_EQ(job.status, 0) << job.errors;
  EXPECT_EQ(job.errors, "");
  expect_ways("memory");
}

TEST_F(NearAndFar, MeetOverUdpAloneWhereThatIsAskedFor) {
  const Variable near("GDAKIT_NIC_NEAR", "udp");
  const Outcome job = run(2, "10");
  if (job.status == kSkipped) GTEST_SKIP() << job.errors;
  ASSERT_EQ(job.status, 0) << job.errors;
  EXPECT_EQ(job.errors, "");
  expect_ways("UDP");
}

TEST_F(NearAndFar, AreExactOnABadNetwork) {
  const Variable faults("GDAKIT_NIC_FAULTS",
                        "drop=2%,repeat=2%,reorder=5%,corrupt=1%,delay=0us..200us");
  const Outcome job = run(2, "5");
  if (job.status == kSkipped) GTEST_SKIP() << job.errors;
  ASSERT_EQ(job.status, 0) << job.errors;
  EXPECT_EQ(job.errors, "");
  expect_ways("memory");
}

TEST_F(NearAndFar, NicsOfAHostShareItsPort) {
  const Variable log("GDAKIT_LOG", "info");
  for (const std::string near : {"memory", "udp"}) {
    const Variable way("GDAKIT_NIC_NEAR", near);
    for (const std::string address : {"10.77.0.0/16", "eth0:4800"}) {
      const Variable place("GDAKIT_NIC_ADDRESS", address);
      const Outcome job = run(2, "5");
      if (job.status == kSkipped) GTEST_SKIP() << job.errors;
      ASSERT_EQ(job.status, 0) << job.errors;
      const std::string port = address == "eth0:4800" ? ":4800" : ":4791";
      for (int pe = 0; pe < 4; ++pe) {
        EXPECT_THAT(job.errors,
                    HasSubstr("gdakit[pe " + std::to_string(pe) + "] info: the NIC is at 10.77.0." +
                              std::to_string(1 + pe / 2) + port +
                              ", which it shares with others of this host"));
      }
    }
  }
}

// As of two containers with one name and one network.
TEST_F(NearAndFar, ProcessesThatDoNotSeeEachOtherMeetOverUdp) {
  const Variable log("GDAKIT_LOG", "info");
  const std::string traffic = GDAKIT_TRAFFIC_PE " 5";
  const Outcome job = run(1, {"sh", "-c",
                              "[ $GDAKIT_RANK = 2 ] && exec unshare --pid --fork --mount-proc " +
                                  traffic + "; exec " + traffic});
  if (job.status == kSkipped) GTEST_SKIP() << job.errors;
  ASSERT_EQ(job.status, 0) << job.errors;
  EXPECT_THAT(job.errors, HasSubstr("gdakit[pe 1] info: the NIC reaches PEs 0, 1, 3 through shared "
                                    "memory, PE 2 over UDP"));
  EXPECT_THAT(job.errors, HasSubstr("gdakit[pe 2] info: the NIC reaches PE 2 through shared "
                                    "memory, PEs 0, 1, 3 over UDP"));
}

// With addresses, and nobody far.
TEST_F(NearAndFar, OfOneHostNeedNoNetwork) {
  const Variable log("GDAKIT_LOG", "info");
  const Outcome job = run(1, "5");
  if (job.status == kSkipped) GTEST_SKIP() << job.errors;
  ASSERT_EQ(job.status, 0) << job.errors;
  EXPECT_THAT(job.errors, HasSubstr("the NIC reaches PEs 0, 1, 2, 3 through shared memory\n"));
  const auto pes = tools::read_counters(directory_.path());
  ASSERT_TRUE(pes) << pes.error().message();
  for (const PeCounters& pe : *pes) EXPECT_EQ(pe.nic.udp_packets_sent, 0u);
}

}  // namespace
}  // namespace gdakit::testing_job
