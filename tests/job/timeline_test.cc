// `gdakit run --trace` and `gdakit timeline`: of a job's traffic, of one that was killed, and of
// files that cannot be written.
#include "tools/timeline.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>

#include <gmock/gmock.h>

#include "core/base/files.h"
#include "core/host/trace/trace_file.h"
#include "tests/job/counter_samples.h"
#include "tests/job/launched.h"
#include "tests/job/variable.h"
#include "tools/job_trace.h"
#include "tools/timeline_events.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tools::Lane;
using tools::TimelineEvents;

class TimelineOfAJob : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return directory_.path() + "/" + name; }

  const TemporaryDirectory directory_;
  const Variable device_{"GDAKIT_DEVICE", "cpu"};
};

Outcome check(std::vector<std::string> words) {
  words.insert(words.begin(), {"python3", "-B", GDAKIT_SOURCES "/tests/job/timeline_check.py"});
  return command(words);
}

// How payload travels: GDAKIT_PAYLOAD, or UDP.
class TimelineOfTraffic : public TimelineOfAJob, public testing::WithParamInterface<const char*> {
 private:
  static bool over_udp() { return GetParam() == std::string("udp"); }

  const Variable way_{over_udp() ? "GDAKIT_NIC_ADDRESS" : "GDAKIT_PAYLOAD",
                      over_udp() ? "127.0.0.0/8" : GetParam()};
};

TEST_P(TimelineOfTraffic, HasEveryWqeWithItsCompletion) {
  const Outcome job = gdakit({"run", "-n", "3", "--trace", file("t.json"), "--counters",
                              file("all.json"), GDAKIT_TRAFFIC_PE, "3"});
  ASSERT_EQ(job.status, 0) << job.errors;
  EXPECT_EQ(job.errors, "");
  struct stat status {};
  ASSERT_EQ(::stat(file("t.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const Outcome checked =
      check({file("t.json"), "--counters", file("all.json"), "--lane", "kernels", "--lane",
             "block 0", "--lane", "queue 0 to PE %PE", "--lane", "NIC", "--lane", "wire"});
  EXPECT_EQ(checked.status, 0) << checked.output << checked.errors;
}

INSTANTIATE_TEST_SUITE_P(Ways, TimelineOfTraffic, testing::Values("direct", "host", "udp"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(TimelineOfAJob, ThatWasKilledShowsWhatThereWas) {
  const Outcome job =
      gdakit({"run", "-n", "2", "--trace", file("t.json"), GDAKIT_TRAFFIC_PE, "200", "1"});
  EXPECT_EQ(job.status, 128 + SIGKILL);
  const Outcome checked = check({file("t.json"), "--unfinished", "--lane", "block 0"});
  EXPECT_EQ(checked.status, 0) << checked.output << checked.errors;
}

TEST_F(TimelineOfAJob, IsMadeLaterOfADirectoryToo) {
  std::filesystem::create_directory(file("parts"));
  const Variable trace("GDAKIT_TRACE", file("parts"));
  const Outcome job = gdakit({"run", "-n", "2", GDAKIT_TRAFFIC_PE, "1"});
  ASSERT_EQ(job.status, 0) << job.errors;
  const Outcome made = gdakit({"timeline", file("parts"), file("t.json")});
  ASSERT_EQ(made.status, 0) << made.errors;
  const Outcome checked = check({file("t.json"), "--lane", "queue 0 to PE %PE"});
  EXPECT_EQ(checked.status, 0) << checked.output << checked.errors;
}

TEST_F(TimelineOfAJob, LeavesOutWhatEarlierJobsLeft) {
  std::filesystem::create_directory(file("parts"));
  const Variable trace("GDAKIT_TRACE", file("parts"));
  ASSERT_EQ(gdakit({"run", "-n", "3", GDAKIT_TRAFFIC_PE, "1"}).status, 0);
  const Outcome job = gdakit({"run", "-n", "2", "--trace", file("t.json"), GDAKIT_TRAFFIC_PE, "1"});
  ASSERT_EQ(job.status, 0) << job.errors;
  const auto text = read_file(file("t.json"), "the timeline");
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, AllOf(HasSubstr("\"PE 1\""), testing::Not(HasSubstr("\"PE 2\""))));
  EXPECT_TRUE(std::filesystem::exists(file("parts/pe1-nic.trace"))) << "it is the user's";
}

TEST_F(TimelineOfAJob, SaysWhoTracedNothing) {
  const Outcome job = gdakit({"run", "-n", "2", "--trace", file("t.json"), "true"});
  EXPECT_EQ(job.status, 0);
  EXPECT_THAT(job.errors, HasSubstr("gdakit run: --trace: PEs 0, 1 have traced nothing"));
  EXPECT_EQ(check({file("t.json")}).status, 0);
}

TEST_F(TimelineOfAJob, ThatCannotBeWrittenIsSaidBeforeTheJob) {
  const auto error_of = [&](const std::string& path) {
    const Outcome job = gdakit({"run", "-n", "1", "--trace", path, "touch", file("the-job-ran")});
    EXPECT_EQ(job.status, 1);
    EXPECT_FALSE(std::filesystem::exists(file("the-job-ran")));
    return job.errors;
  };
  EXPECT_THAT(error_of(file("missing/t.json")),
              AllOf(HasSubstr("gdakit run: --trace: " + file("missing/t.json")),
                    HasSubstr("create the folder")));
  EXPECT_THAT(error_of(directory_.path()),
              AllOf(HasSubstr("--trace: " + directory_.path()), HasSubstr("name a file in it")));
}

TEST_F(TimelineOfAJob, ThatIsAnotherUsersFileIsRefused) {
  std::ofstream(file("t.json")) << "theirs";
  if (::chown(file("t.json").c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root";
  const Outcome job = gdakit({"run", "-n", "1", "--trace", file("t.json"), "true"});
  EXPECT_EQ(job.status, 1);
  EXPECT_THAT(job.errors, HasSubstr("another user's file"));
  const auto text = read_file(file("t.json"), "the file");
  EXPECT_EQ(text ? *text : "", "theirs");
}

// What an error says where the parts are.
std::string folder_kept_by(const std::string& error) {
  const std::string command = "`gdakit timeline ";
  const std::size_t found = error.find(command);
  if (found == std::string::npos) return "";
  const std::size_t begin = found + command.size();
  return error.substr(begin, error.find(' ', begin) - begin);
}

// A timeline for a pipe that nobody reads, and for which there is nothing else to do.
class TimelineForNobody : public TimelineOfAJob {
 protected:
  void SetUp() override {
    ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
    std::filesystem::create_directory(file("tmp"));
  }
  // The end of a job that gets this signal meanwhile.
  Outcome ended_by(int signal) const {
    const std::string run = GDAKIT_COMMAND " run -n 1 --counters " + file("all.json") +
                            " --trace " + file("pipe") + " true 2>&1";
    Launched job({"-c", "echo $$; exec " + run}, "", false, "sh");
    const pid_t pid = std::stoi(job.line());
    EXPECT_THAT(job.line(), HasSubstr("--counters: PE 0 has counted nothing"));
    EXPECT_THAT(job.line(), HasSubstr("--trace: PE 0 has traced nothing"));
    // It comes to the pipe while this waits; a second SIGINT kills it.
    for (int i = 0; i < 10 && !ended_within(pid, 2s); ++i) job.kill(signal);
    const bool has_ended = ended_within(pid, 0ms);
    EXPECT_TRUE(has_ended);
    if (!has_ended) job.kill(SIGKILL);
    return job.wait();
  }

  const Variable temporary_{"TMPDIR", file("tmp")};
};

TEST_F(TimelineForNobody, IsGivenUpAtSigintAndThePartsStay) {
  const Outcome job = ended_by(SIGINT);
  EXPECT_EQ(job.status, 1);
  EXPECT_THAT(job.output, HasSubstr("is not whole: interrupted"));
  const std::string kept = folder_kept_by(job.output);
  ASSERT_NE(kept, "") << job.output;
  EXPECT_TRUE(std::filesystem::remove(kept)) << "nothing is in it";
  EXPECT_TRUE(std::filesystem::is_empty(file("tmp")));
}

TEST_F(TimelineForNobody, LeavesNothingWhereASignalEndsTheCommand) {
  for (const int signal : {SIGTERM, SIGHUP, SIGQUIT}) {
    const Outcome job = ended_by(signal);
    EXPECT_EQ(job.status, 128 + signal);
    EXPECT_THAT(job.output, HasSubstr("--trace: " + file("pipe") + " is not whole: signal " +
                                      std::to_string(signal)));
    EXPECT_TRUE(std::filesystem::is_empty(file("tmp"))) << "signal " << signal;
  }
}

// As of `timeout`, whose second SIGTERM may come when the PEs have ended of the first one. On a
// busy machine it may come too late, and is another one then.
TEST_F(TimelineForNobody, IsNotGivenUpAtTheDoubleOfASignalThatThePesGot) {
  // Beside the PE's process group, which ends with the PE.
  const Variable doubles("DOUBLE",
                         "echo > " + file("began") +
                             "; while kill -0 $1 2>&-; do :; done; kill -TERM $2; echo > " +
                             file("doubled"));
  const std::string pe = "end() { setsid sh -c \"$DOUBLE\" sh $$ $PPID & while ! [ -e " +
                         file("began") + " ]; do :; done; exit 0; }; trap end TERM; echo ready; " +
                         "while :; do sleep 0.01; done";
  bool is_made = false;
  for (int i = 0; i < 10 && !is_made; ++i) {
    std::filesystem::remove(file("began"));
    std::filesystem::remove(file("doubled"));
    Launched job({"run", "-n", "1", "--trace", file("pipe"), "sh", "-c", pe});
    EXPECT_EQ(job.line(), "[0] ready");
    job.kill(SIGTERM);
    for (int look = 0; look < 2000 && !std::filesystem::exists(file("doubled")); ++look) {
      std::this_thread::sleep_for(10ms);
    }
    const Outcome reader = command({"timeout", "2", "cat", file("pipe")});
    is_made = reader.output.find("traceEvents") != std::string::npos;
    if (!is_made) job.kill(SIGKILL);
    job.wait();
  }
  EXPECT_TRUE(is_made);
}

TEST_F(TimelineOfAJob, ForAPipeGoesToItsReader) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  const std::string run = GDAKIT_COMMAND " run -n 1 --trace " + file("pipe") + " true";
  const Outcome job = command({"sh", "-c", run + " & exec cat " + file("pipe")});
  EXPECT_THAT(job.output, AllOf(HasSubstr("traceEvents"), HasSubstr("lost_events")));
}

TEST_F(TimelineOfAJob, OnAFullDiskKeepsWhatThePesWrote) {
  const Outcome job = gdakit({"run", "-n", "1", "--trace", "/dev/full", GDAKIT_TRAFFIC_PE, "1"});
  EXPECT_EQ(job.status, 1);
  const std::string kept = folder_kept_by(job.errors);
  ASSERT_NE(kept, "") << job.errors;
  EXPECT_EQ(gdakit({"timeline", kept, file("t.json")}).status, 0);
  EXPECT_EQ(check({file("t.json")}).status, 0);
  std::filesystem::remove_all(kept);
}

TEST_F(TimelineOfAJob, OfADirectoryWithoutTracesIsRefused) {
  EXPECT_THAT(gdakit({"timeline", directory_.path(), file("t.json")}).errors,
              HasSubstr("has no traces"));
  std::ofstream(file("pe0-nic.trace")) << "this is none";
  EXPECT_THAT(gdakit({"timeline", directory_.path(), file("t.json")}).errors,
              AllOf(HasSubstr(file("pe0-nic.trace")), HasSubstr("is no trace of a PE")));
}

// A file of events that the writer is asked for, judged by the checker.
class CheckedTimeline : public TimelineOfAJob {
 protected:
  Outcome check_events(const std::function<void(TimelineEvents&)>& write) const {
    std::ostringstream text;
    TimelineEvents events(text, 1000);
    events.add_process(0, "PE 0");
    write(events);
    events.end([](JsonWriter& about) {
      about.member("lost_events", 0);
      about.member("cut_parts", 0);
    });
    EXPECT_TRUE(write_file(file("t.json"), text.str()));
    return check({file("t.json")});
  }
};

// As of a WQE from 2000 to 3000, and of its CQE from 2900 on.
void add_wqe(TimelineEvents& events, Lane queue, Lane nic, std::uint64_t wqe, std::uint64_t at) {
  events.add_span(nic, {"CQE", "cqe", at + 900, at + 950}, [&](JsonWriter& args) {
    args.member("queue", "queue 0 to PE 1");
    args.member("wqe", wqe);
  });
  events.add_span(queue, {"RDMA_WRITE", "wqe", at, at + 1000}, [&](JsonWriter& args) {
    args.member("wqe", wqe);
    args.member("end", "with a CQE");
  });
  events.add_arrow("completion", {queue, at}, {nic, at + 900});
}

TEST_F(CheckedTimeline, IsRightWithASpanAndItsArrow) {
  const Outcome checked = check_events([](TimelineEvents& events) {
    const Lane queue = events.add_lane(0, "queue 0 to PE 1", 1), nic = events.add_lane(0, "NIC", 2);
    add_wqe(events, queue, nic, 0, 2000);
    add_wqe(events, queue, nic, 1, 3002);
    events.add_instant(nic, {"a name with \"quotes\" and \n\x01\xff", "nic", 4'123'456'789'012});
  });
  EXPECT_EQ(checked.status, 0) << checked.output << checked.errors;
}

TEST_F(CheckedTimeline, IsWrongWhereSpansOfALaneOverlap) {
  const Outcome checked = check_events([](TimelineEvents& events) {
    const Lane queue = events.add_lane(0, "queue 0 to PE 1", 1), nic = events.add_lane(0, "NIC", 2);
    add_wqe(events, queue, nic, 0, 2000);
    add_wqe(events, queue, nic, 1, 2500);
  });
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(checked.output, HasSubstr("overlap in queue 0 to PE 1"));
}

TEST_F(CheckedTimeline, IsWrongWithoutAnArrow) {
  const Outcome checked = check_events([](TimelineEvents& events) {
    const Lane queue = events.add_lane(0, "queue 0 to PE 1", 1);
    events.add_span(queue, {"RDMA_WRITE", "wqe", 2000, 3000}, [](JsonWriter& args) {
      args.member("wqe", 0);
      args.member("end", "with a CQE");
    });
  });
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(checked.output, HasSubstr("no arrow"));
}

// Parts as PEs write them, with what no job has in a test: losses, other hosts.
class TimelineOfParts : public TimelineOfAJob {
 protected:
  // Writes the part of a PE.
  void write_part(TraceHeader header, const std::vector<TraceRecord>& records) const {
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    for (const TraceRecord& record : records) {
      bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
    }
    ASSERT_TRUE(write_file(file("pe" + std::to_string(header.pe) + "-nic.trace"), bytes));
  }
  std::string timeline() const {
    const auto found = tools::find_trace_parts(directory_.path());
    EXPECT_TRUE(found) << found.error().message();
    std::ostringstream text;
    if (found) static_cast<void>(tools::write_timeline(found->parts, text));
    EXPECT_TRUE(write_file(file("t.json"), text.str()));
    return text.str();
  }
};

TraceRecord record_at(std::uint64_t time_ns, TraceKind kind, std::uint64_t index,
                      std::uint32_t detail = 0) {
  TraceRecord record;
  record.kind = kind;
  record.queue = 7;
  record.time_ns = time_ns;
  record.index = index;
  record.value = time_ns;
  record.of.detail = detail;
  return record;
}

TEST_F(TimelineOfParts, SaysWhereEventsWereLost) {
  constexpr auto kTold = static_cast<std::uint32_t>(TraceEnd::told);
  TraceRecord lost = record_at(3000, TraceKind::lost, 0);
  lost.value = 5;
  write_part(
      {}, {record_at(1000, TraceKind::wqe_begin, 0), record_at(1500, TraceKind::cqe, 0),
           record_at(1600, TraceKind::wqe_end, 0, kTold), record_at(2000, TraceKind::wqe_begin, 1),
           lost, record_at(4000, TraceKind::wqe_begin, 9),
           record_at(5000, TraceKind::wqe_end, 9, kTold)});
  const std::string text = timeline();
  EXPECT_THAT(text, AllOf(HasSubstr("5 events lost before"), HasSubstr("\"lost_events\":5"),
                          HasSubstr("\"end\":\"lost\"")));
  EXPECT_EQ(check({file("t.json"), "--unfinished"}).status, 1) << "the loss counts as wrong";
  // The one arrow is that of WQE 0: which CQE told of the last one is not known.
  EXPECT_THAT(text, AllOf(HasSubstr("\"id\":1"), testing::Not(HasSubstr("\"id\":2"))));
}

TEST_F(TimelineOfParts, HasNoArrowAcrossALoss) {
  write_part({},
             {record_at(1000, TraceKind::wqe_begin, 0), record_at(1600, TraceKind::wqe_end, 0),
              record_at(1700, TraceKind::lost, 0), record_at(2000, TraceKind::wqe_begin, 1),
              record_at(2500, TraceKind::cqe, 1),
              record_at(2600, TraceKind::wqe_end, 1, static_cast<std::uint32_t>(TraceEnd::told))});
  EXPECT_THAT(timeline(), AllOf(HasSubstr("\"id\":1"), testing::Not(HasSubstr("\"id\":2"))));
}

TEST_F(TimelineOfParts, ShowsFlushedWqesThatNeverBeganFromTheirCqes) {
  constexpr auto kFlushed = static_cast<std::uint32_t>(TraceEnd::flushed);
  const auto cqe_at = [](std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t wqe) {
    TraceRecord cqe = record_at(end_ns, TraceKind::cqe, wqe);
    cqe.value = begin_ns;
    return cqe;
  };
  write_part({}, {cqe_at(1000, 1100, 0), record_at(1200, TraceKind::wqe_end, 0, kFlushed),
                  cqe_at(1201, 1202, 1), record_at(1202, TraceKind::wqe_end, 1, kFlushed),
                  cqe_at(1203, 1203, 2), record_at(1203, TraceKind::wqe_end, 2, kFlushed)});
  EXPECT_THAT(timeline(), AllOf(HasSubstr("\"dur\":0.2,"), HasSubstr("\"id\":3")));
  const Outcome checked = check({file("t.json")});
  EXPECT_EQ(checked.status, 0) << checked.output;
}

TEST_F(TimelineOfParts, HasNoArrowToACqeThatWasLost) {
  constexpr auto kTold = static_cast<std::uint32_t>(TraceEnd::told);
  write_part(
      {}, {record_at(1000, TraceKind::wqe_begin, 0), record_at(1500, TraceKind::cqe, 0),
           record_at(1600, TraceKind::wqe_end, 0, kTold), record_at(2000, TraceKind::wqe_begin, 1),
           record_at(2500, TraceKind::cqe_lost, 1), record_at(2600, TraceKind::wqe_end, 1, kTold)});
  EXPECT_THAT(timeline(),
              AllOf(HasSubstr("\"CQE lost: CQ overrun\""), HasSubstr("\"its CQE was lost\""),
                    HasSubstr("\"id\":1"), testing::Not(HasSubstr("\"id\":2"))));
}

TEST_F(TimelineOfParts, ShowsHowLongAPeLivedThatHung) {
  TraceRecord kernel = record_at(1'000'000, TraceKind::kernel_begin, 1);
  kernel.set_name("Hang");
  write_part({}, {kernel, record_at(5'000'000, TraceKind::alive, 0)});
  EXPECT_THAT(timeline(), AllOf(HasSubstr("\"name\":\"Hang\""), HasSubstr("\"dur\":4000,"),
                                HasSubstr("\"end\":\"not ended\"")));
}

TEST_F(TimelineOfParts, SaysWhichEndedEarly) {
  TraceHeader header;
  header.ends_early = 1;
  write_part(header,
             {record_at(1000, TraceKind::wqe_begin, 0), record_at(9000, TraceKind::doorbell, 1)});
  EXPECT_THAT(timeline(),
              AllOf(HasSubstr("\"end\":\"the part ends here\""), HasSubstr("\"cut_parts\":1"),
                    HasSubstr("the NIC's part ends early: the disk was full, or failed"),
                    testing::Not(HasSubstr("not ended"))));
  EXPECT_EQ(check({file("t.json"), "--unfinished"}).status, 1) << "it counts as wrong";
  testing::internal::CaptureStderr();
  const auto found = tools::find_trace_parts(directory_.path());
  ASSERT_TRUE(found && tools::write_timeline_file(found->parts, file("t.json"), "who: "));
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "who: " + file("t.json") +
          " lacks events: 1 of the parts ended early, as the disk was full or failed; it says "
          "where\n");
}

TEST_F(TimelineOfParts, OfSeveralHostsHasOneTime) {
  TraceHeader here, there;
  here.boot = {'a'};
  here.steady_ns = 1'000'000;
  here.wall_ns = 50'000'000;
  there.pe = 1;
  there.boot = {'b'};
  there.steady_ns = 900'000'000;
  there.wall_ns = 51'000'000;  // begun 1 ms later
  write_part(here, {record_at(1'500'000, TraceKind::doorbell, 1)});
  write_part(there, {record_at(900'500'000, TraceKind::doorbell, 1)});
  const std::string text = timeline();
  EXPECT_THAT(text, AllOf(HasSubstr("\"ts\":500,"), HasSubstr("\"ts\":1500,"),
                          HasSubstr("moved by its time of day")));
}

}  // namespace
}  // namespace gdakit::testing_job
