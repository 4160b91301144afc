// What `gdakit run --counters` takes for its job's, and its file, whatever happens to the clock.
#include "tools/job_counters.h"

#include <gmock/gmock.h>

#include "core/base/files.h"
#include "core/base/wall_clock.h"
#include "tests/job/counter_samples.h"
#include "tests/job/variable.h"
#include "tools/counters_report.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tools::counters_json;
using tools::counters_table;
using tools::JobCounters;

class CountersOfThisJob : public testing::Test {
 protected:
  void write(const PeCounters& pe) const {
    const std::string path = directory_.path() + "/pe" + std::to_string(pe.pe) + ".prom";
    ASSERT_TRUE(write_file(path, prometheus_text({&pe, 1})));
  }
  void write_text(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file(directory_.path() + "/" + name, text));
  }
  std::string file() const { return directory_.path() + "/all.json"; }
  std::string report() const {
    const auto text = read_file(file(), "the counters");
    return text ? *text : text.error().message();
  }

  const TemporaryDirectory directory_;
  const Variable counters_{"GDAKIT_COUNTERS", directory_.path()};
};

PeCounters pe_begun_at(int rank, std::uint64_t started_ms) {
  PeCounters pe = sample_pe(rank);
  pe.started_ms = started_ms;
  pe.sampled_ms = started_ms + 2000;
  return pe;
}

TEST_F(CountersOfThisJob, AreThoseThatBeganAfterIt) {
  write(pe_begun_at(0, 1'000'000));
  write(pe_begun_at(1, 1'000'000));
  const auto counters = JobCounters::open(file(), 2);
  ASSERT_TRUE(counters) << counters.error().message();
  write(pe_begun_at(1, wall_ms()));
  testing::internal::CaptureStderr();
  ASSERT_TRUE((*counters)->report());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("PE 0 has counted nothing"));
  EXPECT_THAT(report(), AllOf(HasSubstr("\"pe\": 1"), Not(HasSubstr("\"pe\": 0"))));
}

// Its PEs seem to have begun before it.
TEST_F(CountersOfThisJob, AreFoundThoughTheClockWasSetBack) {
  write(pe_begun_at(0, wall_ms()));
  const auto counters = JobCounters::open(file(), 1);
  ASSERT_TRUE(counters) << counters.error().message();
  write(pe_begun_at(0, wall_ms() - 3'600'000));
  testing::internal::CaptureStderr();
  ASSERT_TRUE((*counters)->report());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(report(), HasSubstr("\"pe\": 0"));
}

// It knows which of the others' files are not its own all the same.
TEST_F(CountersOfThisJob, AreToldFromEarlierOnesBesideAFileThatIsNone) {
  write(pe_begun_at(0, 1'000'000));
  write(pe_begun_at(1, 1'000'000));
  write_text("pe2.prom", "gdakit_cqes_total{pe=\"2\"\n");
  testing::internal::CaptureStderr();
  const auto counters = JobCounters::open(file(), 3);
  ASSERT_TRUE(counters) << counters.error().message();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("left out, of an earlier job: "), HasSubstr("pe2.prom:1: ")));
  write(pe_begun_at(1, 2'000'000));
  testing::internal::CaptureStderr();
  const auto reported = (*counters)->report();
  EXPECT_TRUE(reported) << reported.error().message();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("PEs 0, 2 have counted nothing"));
  EXPECT_THAT(report(), AllOf(HasSubstr("\"pe\": 1"), Not(HasSubstr("\"pe\": 0"))));
  write(pe_begun_at(2, 2'000'000));
  ASSERT_TRUE((*counters)->report());
  EXPECT_THAT(report(), HasSubstr("\"pe\": 2"));
}

TEST_F(CountersOfThisJob, ThatCannotBeReadAreAnError) {
  const auto counters = JobCounters::open(file(), 1);
  ASSERT_TRUE(counters) << counters.error().message();
  write_text("pe0.prom", "none\n");
  const auto reported = (*counters)->report();
  ASSERT_FALSE(reported);
  EXPECT_THAT(reported.error().message(), HasSubstr("pe0.prom:1: "));
}

TEST(CountersJson, SaysHowLongThePeHasCounted) {
  PeCounters pe = sample_pe(0);
  EXPECT_THAT(counters_json({&pe, 1}), HasSubstr("\"seconds\": 2,"));
  pe.sampled_ms = pe.started_ms - 1;
  EXPECT_THAT(counters_json({&pe, 1}), HasSubstr("\"seconds\": 0,")) << "the clock was set back";
}

TEST(CountersReport, LeavesOutWhatIsNotKnown) {
  const PeCounters pes[] = {sample_pe(0), pe_counted_together(1)};
  const std::string json = counters_json({&pes[1], 1});
  EXPECT_THAT(json, HasSubstr("\"out_of_sequence\": 6"));
  EXPECT_THAT(json, HasSubstr("\"broken\": true"));
  EXPECT_THAT(json, Not(HasSubstr("bytes_sent")));
  const std::string table = counters_table(pes);
  EXPECT_THAT(table, testing::ContainsRegex("bytes_sent +127 +127 +-\n"));
  EXPECT_THAT(table, testing::ContainsRegex("out_of_sequence +6 +0 +6\n"));
  EXPECT_THAT(table, HasSubstr("All other counters are 0, or the NIC has none of them"));
}

}  // namespace
}  // namespace gdakit::testing_job
