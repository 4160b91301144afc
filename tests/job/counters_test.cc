// What the NICs of a job count, in files while it runs and after it: GDAKIT_COUNTERS, `gdakit run
// --counters`, `gdakit top`.
#include <signal.h>

#include <gmock/gmock.h>

#include "core/base/files.h"
#include "tests/job/counter_samples.h"
#include "tests/job/launched.h"
#include "tests/job/variable.h"
#include "tools/counters_reader.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;
using tools::read_counters;

class CountersOfAJob : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return directory_.path() + "/" + name; }
  std::string text_of(const std::string& name) const {
    const auto text = read_file(file(name), "the counters");
    EXPECT_TRUE(text) << text.error().message();
    return text ? *text : "";
  }

  const TemporaryDirectory directory_;
  const Variable device_{"GDAKIT_DEVICE", "cpu"};
};

// What all NICs have sent they have received, if nothing was sent twice; traffic_pe adds 64 times a
// round to a word of PE 0.
void expect_traffic(const std::vector<PeCounters>& pes, std::size_t size) {
  ASSERT_EQ(pes.size(), size);
  NicCounters sum;
  for (const PeCounters& pe : pes) {
    EXPECT_GT(pe.nic.bytes_sent, 5 * 80'000u);
    EXPECT_EQ(pe.nic.req_cqe_error, 0u);
    sum += pe.nic;
  }
  EXPECT_GE(sum.bytes_sent, sum.bytes_received);
  if (sum.retries == 0) {
    EXPECT_EQ(sum.bytes_sent, sum.bytes_received);
  }
  EXPECT_GE(pes[0].nic.rx_atomic_requests, 64 * 5 * size);
}

TEST_F(CountersOfAJob, AreWrittenByEachPe) {
  const Variable counters("GDAKIT_COUNTERS", directory_.path());
  const Outcome job = gdakit({"run", "-n", "2", GDAKIT_TRAFFIC_PE, "5"});
  ASSERT_EQ(job.status, 0) << job.errors;
  EXPECT_EQ(job.errors, "");
  const auto pes = read_counters(directory_.path());
  ASSERT_TRUE(pes) << pes.error().message();
  expect_traffic(*pes, 2);
  for (const PeCounters& pe : *pes) {
    NicCounters sum;
    for (const PeCounters::Queue& queue : pe.queues) {
      EXPECT_TRUE(queue.position) << queue.number;
      sum += queue.counters;
    }
    EXPECT_EQ(pe.queues.size(), 4u);  // two to each PE
    EXPECT_EQ(sum.bytes_sent, pe.nic.bytes_sent);
  }
  EXPECT_THAT(gdakit({"top", "--once", "--interval", "0.1", directory_.path()}).output,
              StartsWith("PE  WQEs/s"));
}

TEST_F(CountersOfAJob, ThatLosesPacketsShowIt) {
  const Variable faults("GDAKIT_NIC_FAULTS", "drop=5%");
  const Outcome job =
      gdakit({"run", "-n", "2", "--counters", file("all.prom"), GDAKIT_TRAFFIC_PE, "5"});
  ASSERT_EQ(job.status, 0) << job.errors;
  const auto pes = tools::parse_counters(text_of("all.prom"), "all.prom");
  ASSERT_TRUE(pes) << pes.error().message();
  NicCounters sum;
  for (const PeCounters& pe : *pes) sum += pe.nic;
  EXPECT_GT(sum.retries, 0u);
  EXPECT_GT(sum.out_of_sequence + sum.duplicate_request + sum.roce_adp_retrans, 0u);
  EXPECT_LT(sum.packets_received, sum.packets_sent);
}

TEST_F(CountersOfAJob, AreOneFileAtItsEnd) {
  for (const char* name : {"all.prom", "all.json", "all.txt"}) {
    const Outcome job =
        gdakit({"run", "-n", "2", "--counters", file(name), GDAKIT_TRAFFIC_PE, "5"});
    ASSERT_EQ(job.status, 0) << job.errors;
    EXPECT_EQ(job.errors, "");
  }
  const auto pes = tools::parse_counters(text_of("all.prom"), "all.prom");
  ASSERT_TRUE(pes) << pes.error().message();
  expect_traffic(*pes, 2);
  const std::string reader =
      "import json, sys; pes = json.load(open(sys.argv[1]))['pes']; "
      "print([pe['pe'] for pe in pes], "
      "all(pe['nic']['bytes_sent'] == sum(q['bytes_sent'] for q in pe['queues']) > 400000 "
      "for pe in pes), sorted((q['peer'], q['queue']) for q in pes[1]['queues']))";
  EXPECT_EQ(command({"python3", "-c", reader, file("all.json")}).output,
            "[0, 1] True [(0, 0), (0, 1), (1, 0), (1, 1)]\n");
  EXPECT_THAT(text_of("all.txt"),
              AllOf(StartsWith("counter "), HasSubstr("all PEs"), HasSubstr("PE 1"),
                    HasSubstr("\nbytes_sent "), Not(HasSubstr("req_cqe_error"))));
}

TEST_F(CountersOfAJob, AreThereWhenItHasFailed) {
  const Outcome job =
      gdakit({"run", "-n", "2", "--counters", file("all.prom"), GDAKIT_TRAFFIC_PE, "10", "1"});
  EXPECT_EQ(job.status, 128 + SIGKILL);
  const auto pes = tools::parse_counters(text_of("all.prom"), "all.prom");
  ASSERT_TRUE(pes) << pes.error().message();
  EXPECT_EQ(pes->size(), 2u);
}

TEST_F(CountersOfAJob, OfAnotherProgramAreMissed) {
  const Outcome job = gdakit({"run", "-n", "2", "--counters", file("all.prom"), "true"});
  EXPECT_EQ(job.status, 0);
  EXPECT_THAT(job.errors, HasSubstr("--counters: PEs 0, 1 have counted nothing"));
}

TEST_F(CountersOfAJob, ThatCannotBeWrittenAreAnErrorAtTheStart) {
  const Outcome job =
      gdakit({"run", "-n", "1", "--counters", file("none/all.prom"), "echo", "started"});
  EXPECT_EQ(job.status, 1);
  EXPECT_EQ(job.output, "");
  EXPECT_THAT(job.errors,
              AllOf(HasSubstr("--counters: cannot write"), HasSubstr("No such file or directory")));
  const Variable counters("GDAKIT_COUNTERS", file("none"));
  const Outcome pe = gdakit({"run", "-n", "1", GDAKIT_TRAFFIC_PE, "1"});
  EXPECT_EQ(pe.status, 1);
  EXPECT_THAT(pe.errors, AllOf(HasSubstr("GDAKIT_COUNTERS: cannot write"),
                               HasSubstr("No such file or directory; name a directory that")));
}

TEST_F(CountersOfAJob, AreShownWhileItRuns) {
  const Variable counters("GDAKIT_COUNTERS", directory_.path());
  Launched job({"run", "-n", "2", GDAKIT_TRAFFIC_PE, "1000000"});
  const auto both_count = [this] {
    const auto pes = read_counters(directory_.path());
    return pes && pes->size() == 2;
  };
  for (int i = 0; i < 4000 && !both_count(); ++i) std::this_thread::sleep_for(10ms);
  Launched top(
      {"top", directory_.path(), "--by", "queue", "--sort", "tx-bytes", "--interval", "0.5"});
  EXPECT_THAT(top.line(), MatchesRegex("PE  peer  queue +QP  WQEs/s .*"));
  for (int queue = 0; queue < 8; ++queue) EXPECT_THAT(top.line(), Not(HasSubstr("\x1b")));
  top.kill(SIGINT);
  EXPECT_EQ(top.wait().status, 0);
  EXPECT_EQ(top.wait().errors, "");
  job.kill(SIGTERM);
  job.wait();
}

TEST(Top, SaysWhatIsWrongWithItsDirectory) {
  const TemporaryDirectory directory;
  const Outcome empty = gdakit({"top", directory.path()});
  EXPECT_EQ(empty.status, 1);
  EXPECT_THAT(empty.errors, AllOf(HasSubstr("gdakit top: " + directory.path() + " has no counters"),
                                  HasSubstr("GDAKIT_COUNTERS=" + directory.path())));
  const Outcome missing = gdakit({"top", directory.path() + "/none"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.errors, HasSubstr("No such file or directory"));
  EXPECT_EQ(gdakit({"top", directory.path(), "--sort", "beauty"}).status, 2);
  EXPECT_EQ(gdakit({"top", directory.path(), "--interval", "0"}).status, 2);
  EXPECT_EQ(gdakit({"top"}).status, 2);
}

}  // namespace
}  // namespace gdakit::testing_job
