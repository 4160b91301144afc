// What PEs write for Prometheus, and what is read of it again.
#include "tools/counters_reader.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/job/counter_samples.h"
#include "tests/job/launched.h"

namespace gdakit::testing_job {
namespace {

using testing::HasSubstr;
using testing::Not;
using tools::parse_counters;
using tools::read_counters;

TEST(PrometheusText, SaysWhatAMetricIsOnceAndThenItsSamples) {
  PeCounters first = sample_pe(0), second = sample_pe(1);
  const PeCounters both[] = {first, second};
  const std::string text = prometheus_text(both);
  EXPECT_THAT(text, HasSubstr("# HELP gdakit_bytes_sent_total Payload given to the wire, "
                              "repetitions included (bytes)\n"
                              "# TYPE gdakit_bytes_sent_total counter\n"
                              R"(gdakit_bytes_sent_total{pe="0",qp="3",peer="1",queue="2"} 100)"
                              "\n"
                              R"(gdakit_bytes_sent_total{pe="0",qp="5"} 20)"
                              "\n"
                              R"(gdakit_bytes_sent_total{pe="0",qp="gone"} 7)"
                              "\n"
                              R"(gdakit_bytes_sent_total{pe="1",qp="3",peer="1",queue="2"} 100)"
                              "\n"));
  EXPECT_THAT(text, HasSubstr(R"(gdakit_req_remote_access_errors_total{pe="0",qp="5",)"
                              R"(syndrome="remote_access"} 0)"));
  EXPECT_THAT(text, HasSubstr("\ngdakit_dropped_packets_total{pe=\"0\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE gdakit_start_time_seconds gauge\n"
                              "gdakit_start_time_seconds{pe=\"0\"} 1000.500\n"));
}

TEST(PrometheusText, OfANicThatCountsForAllQueuesTogetherSaysSo) {
  const PeCounters pe = pe_counted_together(0);
  const std::string text = prometheus_text({&pe, 1});
  EXPECT_THAT(text, HasSubstr("\ngdakit_out_of_sequence_total{pe=\"0\",qp=\"all\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("\ngdakit_duplicate_request_total{pe=\"0\",qp=\"all\"} 0\n"));
  EXPECT_THAT(text, HasSubstr(R"(gdakit_req_remote_access_errors_total{pe="0",qp="all",)"
                              R"(syndrome="remote_access"} 2)"));
  EXPECT_THAT(text, HasSubstr("# TYPE gdakit_queue_broken gauge\n"
                              R"(gdakit_queue_broken{pe="0",qp="3",peer="1",queue="2"} 0)"
                              "\n"
                              R"(gdakit_queue_broken{pe="0",qp="5"} 1)"
                              "\n"));
  for (const char* unknown : {"gone", "bytes_sent", "completed_wqes", "dropped_packets"}) {
    EXPECT_THAT(text, Not(HasSubstr(unknown)));
  }
}

TEST(PrometheusText, OfANicThatCountsNothingHasNoCounters) {
  PeCounters pe = pe_counted_together(0);
  pe.counts = Counts::nothing;
  const std::string text = prometheus_text({&pe, 1});
  EXPECT_THAT(text, Not(HasSubstr("_total")));
  EXPECT_THAT(text, HasSubstr("gdakit_queue_broken{pe=\"0\",qp=\"5\"} 1\n"));
}

// Each PE by its own NIC.
TEST(ParsedCounters, AreOfWhatTheirNicCounts) {
  PeCounters none = pe_counted_together(2);
  none.counts = Counts::nothing;
  const PeCounters pes[] = {sample_pe(0), pe_counted_together(1), none};
  const auto read = parse_counters(prometheus_text(pes), "text");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 3u);
  EXPECT_EQ((*read)[0].counts, Counts::each_queue);
  EXPECT_EQ((*read)[1].counts, Counts::together);
  EXPECT_EQ((*read)[2].counts, Counts::nothing);
  EXPECT_EQ((*read)[0].queues[0].broken, std::nullopt);
  for (const std::size_t pe : {1, 2}) {
    ASSERT_EQ((*read)[pe].queues.size(), 2u);
    EXPECT_EQ((*read)[pe].queues[0].broken, false);
    EXPECT_EQ((*read)[pe].queues[0].position, (QueuePosition{1, 2}));
    EXPECT_EQ((*read)[pe].queues[1].broken, true);
  }
  EXPECT_EQ((*read)[1].nic.out_of_sequence, 6u);
}

TEST(ParsedCounters, AreWhatWasWritten) {
  const PeCounters both[] = {sample_pe(0), sample_pe(7)};
  const auto read = parse_counters(prometheus_text(both), "text");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const PeCounters& pe = (*read)[i];
    EXPECT_EQ(pe.pe, both[i].pe);
    EXPECT_EQ(pe.started_ms, both[i].started_ms);
    EXPECT_EQ(pe.sampled_ms, both[i].sampled_ms);
    ASSERT_EQ(pe.queues.size(), 2u);
    EXPECT_EQ(pe.queues[0].number, 3u);
    EXPECT_EQ(pe.queues[0].position, (QueuePosition{1, 2}));
    EXPECT_EQ(pe.queues[1].position, std::nullopt);
    for (const CounterRow& row : counter_table()) {
      EXPECT_EQ(value_of(pe.nic, row), value_of(both[i].nic, row)) << row.name;
    }
    EXPECT_EQ(pe.queues[1].counters.bytes_sent, 20u);
  }
}

TEST(ParsedCounters, LeaveOutWhatThisVersionDoesNotKnow) {
  const auto read = parse_counters(
      "# a comment\n\ngdakit_new_total{pe=\"0\",why=\"a \\\"b\\\", {c}\"} 5\nup 1\n"
      "gdakit_cqes_total{pe=\"0\",qp=\"1\",other=\"x\"} 2 1700000000\n",
      "text");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front().nic.cqes, 2u);
}

TEST(ParsedCounters, OfALineThatIsNoneNameIt) {
  for (const char* line :
       {"gdakit_cqes_total{pe=\"0\",qp=\"1\"} many", "{pe=\"0\"} 1",
        "gdakit_cqes_total{pe=\"0\",qp=\"1\"} -1", "gdakit_cqes_total 1",
        "gdakit_cqes_total{pe=\"0\"} 1", "gdakit_cqes_total{pe=\"0\",qp=\"1\"",
        "gdakit_cqes_total{pe=\"-1\",qp=\"1\"} 1", "gdakit_cqes_total{pe=0} 1",
        "gdakit_queue_broken{pe=\"0\",qp=\"1\"} 2", "gdakit_queue_broken{pe=\"0\"} 1",
        "gdakit_sample_time_seconds{pe=\"0\"} nan"}) {
    const auto read = parse_counters(std::string("\n") + line + "\n", "pe0.prom");
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().message(),
              std::string("pe0.prom:2: this is not a line of gdakit's counters: ") + line);
  }
}

// As many as a job of hundreds of PEs has: none is looked for among all the others.
TEST(ParsedCounters, OfThousandsOfQueuePairsAreWhatWasWritten) {
  const PeCounters many = pe_with_queues(5000);
  const auto read = parse_counters(prometheus_text({&many, 1}), "text");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 1u);
  const PeCounters& pe = read->front();
  EXPECT_EQ(pe.nic.bytes_sent, many.nic.bytes_sent);
  ASSERT_EQ(pe.queues.size(), many.queues.size());
  for (std::size_t i = 0; i < many.queues.size(); ++i) {
    ASSERT_EQ(pe.queues[i].number, many.queues[i].number);
    ASSERT_EQ(pe.queues[i].position, many.queues[i].position);
    ASSERT_EQ(pe.queues[i].counters.bytes_sent, many.queues[i].counters.bytes_sent);
  }
}

TEST(ReadCounters, TakesTheFilesOfADirectoryInTheOrderOfThePes) {
  const TemporaryDirectory directory;
  for (const int rank : {10, 2}) {
    const PeCounters pe = sample_pe(rank);
    std::ofstream(directory.path() + "/pe" + std::to_string(rank) + ".prom")
        << prometheus_text({&pe, 1});
  }
  std::ofstream(directory.path() + "/.pe2.prom.77") << "half a fi";
  std::ofstream(directory.path() + "/node.prom") << "other 1\n";
  const auto read = read_counters(directory.path());
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].pe, 2);
  EXPECT_EQ((*read)[1].pe, 10);
  const auto missing = read_counters(directory.path() + "/none");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("/none\": No such file or directory"));
}

}  // namespace
}  // namespace gdakit::testing_job
