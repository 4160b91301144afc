// What `gdakit run --trace` takes for its job's parts, and what it keeps if it cannot make a
// timeline of them.
#include "tools/job_trace.h"

#include <filesystem>
#include <sys/fsuid.h>

#include <gmock/gmock.h>

#include "core/base/files.h"
#include "tests/job/counter_samples.h"
#include "tests/job/launched.h"
#include "tests/job/variable.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tools::JobTrace;

constexpr const char* kNoTrace = "this is none";

class PartsOfThisJob : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
  // A part without events, of a PE that began then.
  void write(int pe, std::uint64_t begin_ns, const std::string& name) const {
    TraceHeader header;
    header.pe = pe;
    header.steady_ns = header.wall_ns = begin_ns;
    const std::string_view bytes(reinterpret_cast<const char*>(&header), sizeof header);
    ASSERT_TRUE(write_file(path(name), bytes));
  }
  void write(int pe, std::uint64_t begin_ns) const {
    write(pe, begin_ns, "pe" + std::to_string(pe) + "-nic.trace");
  }
  std::string timeline() const {
    const auto text = read_file(path("t.json"), "the timeline");
    return text ? *text : text.error().message();
  }
  std::unique_ptr<JobTrace> open(int size) const {
    auto trace = JobTrace::open(path("t.json"), size);
    EXPECT_TRUE(trace) << trace.error().message();
    return std::move(*trace);
  }

  const TemporaryDirectory directory_;
  const Variable trace_{"GDAKIT_TRACE", directory_.path()};
};

TEST_F(PartsOfThisJob, AreFoundBesideOneOfAnEarlierJobThatIsNone) {
  write(0, 1000);
  write(1, 1000);
  ASSERT_TRUE(write_file(path("pe2-host.trace"), kNoTrace));
  testing::internal::CaptureStderr();
  const auto trace = open(2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("gdakit run: --trace: left out, of an earlier job: "),
                    HasSubstr("pe2-host.trace is no trace of a PE")));
  write(1, 2000);
  testing::internal::CaptureStderr();
  const auto reported = trace->report();
  EXPECT_TRUE(reported) << reported.error().message();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("PE 0 has traced nothing"));
  EXPECT_THAT(timeline(), AllOf(HasSubstr("\"PE 1\""), Not(HasSubstr("\"PE 0\""))));
}

TEST_F(PartsOfThisJob, AreOfItsPes) {
  const auto trace = open(2);
  for (int pe = 0; pe < 3; ++pe) write(pe, 1000);
  ASSERT_TRUE(trace->report());
  EXPECT_THAT(timeline(), AllOf(HasSubstr("\"PE 1\""), Not(HasSubstr("\"PE 2\""))));
}

TEST_F(PartsOfThisJob, ThatCannotBeReadAreAnError) {
  const auto trace = open(1);
  ASSERT_TRUE(write_file(path("pe0-nic.trace"), kNoTrace));
  const auto reported = trace->report();
  ASSERT_FALSE(reported);
  EXPECT_THAT(reported.error().message(),
              AllOf(HasSubstr(path("pe0-nic.trace is no trace")),
                    HasSubstr("`gdakit timeline " + trace->directory())));
}

TEST_F(PartsOfThisJob, OfOnePeTwiceAreAnError) {
  const auto trace = open(2);
  write(1, 1000);
  write(1, 1000, "pe01-nic.trace");
  const auto reported = trace->report();
  ASSERT_FALSE(reported);
  EXPECT_THAT(reported.error().message(),
              AllOf(HasSubstr(path("pe01-nic.trace")), HasSubstr(path("pe1-nic.trace")),
                    HasSubstr("are both of PE 1; remove the one")));
}

TEST_F(PartsOfThisJob, StayIfOneOfThemCannotBeRead) {
  const Variable none("GDAKIT_TRACE", "");
  auto trace = open(2);
  const std::string folder = trace->directory();
  ASSERT_NE(folder, directory_.path());
  ASSERT_TRUE(write_file(folder + "/pe0-nic.trace", kNoTrace));
  ASSERT_TRUE(write_file(folder + "/pe1-nic.trace", ""));
  EXPECT_FALSE(trace->report());
  trace.reset();
  EXPECT_TRUE(std::filesystem::exists(folder + "/pe1-nic.trace"));
  std::filesystem::remove_all(folder);
}

TEST_F(PartsOfThisJob, ThatAreAnothersGiveTheReasonAndTheRemedy) {
  write(0, 1000);
  std::filesystem::permissions(path("pe0-nic.trace"), std::filesystem::perms::none);
  std::filesystem::permissions(directory_.path(), std::filesystem::perms::all);
  constexpr uid_t kNobody = 65534;
  const int before = ::setfsuid(kNobody);  // root may read all; others stay who they are
  const auto found = tools::find_trace_parts(directory_.path());
  ::setfsuid(static_cast<uid_t>(before));
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->unread.size(), 1u);
  EXPECT_THAT(found->unread[0].error.message(),
              AllOf(HasSubstr("Permission denied; be the user"), HasSubstr("pe0-nic.trace")));
}

TEST_F(PartsOfThisJob, HaveNamesOfNumbersAlone) {
  ASSERT_TRUE(write_file(path("peer-nic.trace"), kNoTrace));
  std::filesystem::create_directory(path("pe0-nic.trace"));
  const auto found = tools::find_trace_parts(directory_.path());
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->unread.size(), 1u);
  EXPECT_THAT(found->unread[0].error.message(),
              AllOf(HasSubstr("pe0-nic.trace"), HasSubstr("Is a directory")));
}

}  // namespace
}  // namespace gdakit::testing_job
