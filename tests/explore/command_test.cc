// `gdakit explore`, with toys for scenarios.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/explore/explorer.h"
#include "tests/explore/toys.h"
#include "tools/explore_run.h"
#include "tools/progress.h"

namespace gdakit::tools {
namespace {

using sim::GpuModel;
using sim::Subject;
using sim::SubjectOptions;
using sim::test::Toy;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::unique_ptr<Subject> racy(const SubjectOptions&) {
  return std::make_unique<Toy>(sim::test::counter(true));
}
std::unique_ptr<Subject> fixed(const SubjectOptions&) {
  return std::make_unique<Toy>(sim::test::counter(false, 3, 2));
}
// Asks for an end in its third execution.
std::atomic<bool> stop_request = false;
std::unique_ptr<Subject> stopping(const SubjectOptions&) {
  return std::make_unique<Toy>("stopping", 1, Toy::Program{{{sim::test::Op::Kind::store, 0}}},
                               [runs = std::make_shared<int>(0)](const sim::test::ToyState&) {
                                 stop_request = ++*runs >= 3;
                                 return std::string();
                               });
}
// Fails on one GPU only.
std::unique_ptr<Subject> flush(const SubjectOptions& options) {
  return std::make_unique<Toy>(sim::test::message(options.gpu == GpuModel::ampere));
}

constexpr sim::ScenarioEntry kScenarios[] = {
    {"counter", "Three agents count; nothing is lost.", fixed},
    {"racy-counter", "Two agents count; something is lost.", racy},
    {"stale-message", "A message needs a flush before Hopper.", flush}};

constexpr sim::ScenarioEntry kInterrupted[] = {
    {"counter", "Three agents count; nothing is lost.", fixed},
    {"stopping", "An agent stores; ^C comes.", stopping},
    {"racy-counter", "Two agents count; something is lost.", racy}};

struct Ran {
  int status = 0;
  std::string out;
  std::string errors;
};

Ran run(const ExploreArguments& arguments,
        std::span<const sim::ScenarioEntry> scenarios = kScenarios) {
  std::ostringstream out;
  std::ostringstream errors;
  stop_request = false;
  const int status = run_explore(arguments, scenarios, {&out, &errors, 0, &stop_request});
  return {status, out.str(), errors.str()};
}

ExploreArguments scenario(const std::string& name) {
  ExploreArguments arguments;
  arguments.scenario = name;
  return arguments;
}

class File {
 public:
  explicit File(const std::string& name)
      : path_(std::filesystem::path(testing::TempDir()) /
              ("gdakit-explore-" + std::to_string(::getpid()) + "-" + name)) {}
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string path() const { return path_.string(); }
  bool exists() const { return std::filesystem::exists(path_); }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path path_;
};

TEST(ExploreCommand, APassingScenarioIsOneLine) {
  const Ran ran = run(scenario("counter"));
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, StartsWith("counter: passed after 2000 executions, 1 distinct outcome, "));
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1);
  EXPECT_THAT(ran.errors, IsEmpty());
}

TEST(ExploreCommand, AFindingIsReportedAndItsTokenReplaysIt) {
  ExploreArguments arguments = scenario("racy-counter");
  arguments.seed = 7;
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr("racy-counter: FAILED after"));
  EXPECT_THAT(ran.out, HasSubstr("the counter is 1 and not 2"));
  const std::string line = "gdakit explore racy-counter --replay ";
  ASSERT_THAT(ran.out, HasSubstr(line));
  const std::size_t from = ran.out.find(line) + line.size();
  ExploreArguments again = scenario("racy-counter");
  again.replay = ran.out.substr(from, ran.out.find('\n', from) - from);
  const Ran replayed = run(again);
  EXPECT_EQ(replayed.status, 1);
  EXPECT_THAT(replayed.out, HasSubstr("the counter is 1 and not 2"));
}

std::string token_in(const std::string& report) {
  const std::size_t from = report.find(" --replay ") + 10;
  return report.substr(from, report.find('\n', from) - from);
}

TEST(ExploreCommand, ATokenOfAnotherScenarioOrOfOtherOptionsIsRefused) {
  ExploreArguments other = scenario("counter");
  other.replay = token_in(run(scenario("racy-counter")).out);
  const Ran ran = run(other);
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.errors, HasSubstr("not a replay token of gdakit explore counter"));
  EXPECT_THAT(ran.errors, HasSubstr("or it is of another scenario or of other options"));
  ExploreArguments arguments = scenario("stale-message");
  arguments.gpu = "ampere";
  arguments.replay = token_in(run(arguments).out);
  EXPECT_THAT(run(arguments).out, HasSubstr("the data is not there"));
  arguments.gpu = "hopper";
  EXPECT_EQ(run(arguments).status, 2);
}

TEST(ExploreCommand, AnEmptyTokenIsRefused) {
  ExploreArguments arguments = scenario("counter");
  arguments.replay = "";
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.errors, HasSubstr("it is empty"));
}

TEST(ExploreCommand, AnInterruptEndsItWithWhatHasBeenDone) {
  ExploreArguments arguments = scenario("stopping");
  arguments.seconds = 1000;
  Ran ran = run(arguments, kInterrupted);
  EXPECT_EQ(ran.status, 130);
  EXPECT_THAT(ran.out, HasSubstr("stopping: stopped after "));
  EXPECT_THAT(ran.errors, IsEmpty()) << "no scenario is left out";
  arguments = scenario("all");
  arguments.schedules = 50;
  arguments.json = "-";
  ran = run(arguments, kInterrupted);
  EXPECT_THAT(ran.errors, HasSubstr("counter: passed after 50 executions"));
  EXPECT_THAT(ran.errors, HasSubstr("interrupted in scenario 2 of 3"));
  EXPECT_THAT(ran.errors, Not(HasSubstr("racy-counter")));
  EXPECT_THAT(ran.out, HasSubstr("\"stopped\": true"));
}

TEST(ExploreCommand, AllRunsEverythingAndFailsIfOneDoes) {
  ExploreArguments arguments = scenario("all");
  arguments.schedules = 50;
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr("counter: passed after 50 executions"));
  EXPECT_THAT(ran.out, HasSubstr("racy-counter: FAILED"));
  EXPECT_THAT(ran.out, HasSubstr("message: passed after 50 executions"));
}

TEST(ExploreCommand, TheGpuReachesTheScenarioAndTheReplayLine) {
  ExploreArguments arguments = scenario("stale-message");
  EXPECT_EQ(run(arguments).status, 0);
  arguments.gpu = "ampere";
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr("gdakit explore stale-message --gpu ampere --replay v"));
}

TEST(ExploreCommand, ExhaustiveProvesASmallScenario) {
  ExploreArguments arguments = scenario("counter");
  arguments.strategy = "exhaustive";
  EXPECT_THAT(run(arguments).out, HasSubstr("90 executions, which are all there are"));
  arguments.preemptions = 0;
  EXPECT_THAT(run(arguments).out, Not(HasSubstr("all there are")));
  arguments.strategy = "pct";
  EXPECT_EQ(run(arguments).status, 2);
}

TEST(ExploreCommand, JsonHasTheResults) {
  File file("results.json");
  ExploreArguments arguments = scenario("all");
  arguments.json = file.path();
  EXPECT_EQ(run(arguments).status, 1);
  const std::string text = file.text();
  EXPECT_THAT(text, StartsWith("{\n  \"passed\": false,\n  \"gpu\": \"hopper\","));
  EXPECT_THAT(text, HasSubstr("\"scenario\": \"counter\",\n      \"passed\": true"));
  EXPECT_THAT(text, HasSubstr("\"failure\": null"));
  EXPECT_THAT(text, HasSubstr("\"finding\": \"invariant\""));
  EXPECT_THAT(text, HasSubstr("\"needs\": \"1 preemption\""));
}

TEST(ExploreCommand, JsonOnStandardOutputIsAloneThere) {
  ExploreArguments arguments = scenario("counter");
  arguments.json = "-";
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.out.front(), '{');
  EXPECT_EQ(ran.out.back(), '\n');
  EXPECT_THAT(ran.out, Not(HasSubstr("passed after")));
  EXPECT_THAT(ran.errors, HasSubstr("passed after"));
}

TEST(ExploreCommand, HtmlIsWrittenForTheFirstFailureOnly) {
  File file("page.html");
  ExploreArguments arguments = scenario("counter");
  arguments.html = file.path();
  EXPECT_THAT(run(arguments).errors, HasSubstr("nothing failed"));
  EXPECT_FALSE(file.exists());
  arguments.scenario = "all";
  EXPECT_EQ(run(arguments).status, 1);
  EXPECT_THAT(file.text(), HasSubstr("racy-counter"));
}

TEST(ExploreCommand, AFileThatCannotBeWrittenFails) {
  ExploreArguments arguments = scenario("counter");
  arguments.json = testing::TempDir() + "gdakit-no-such-folder/results.json";
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("cannot write"));
}

// A night's run must not end with a page that has no place.
TEST(ExploreCommand, AFileThatCannotBeWrittenIsToldOfBeforeTheRun) {
  ExploreArguments arguments = scenario("racy-counter");
  arguments.html = testing::TempDir() + "gdakit-no-such-folder/page.html";
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_EQ(ran.errors,
            "gdakit explore: cannot write \"" + arguments.html + "\": No such file or directory\n");
}

TEST(ExploreCommand, AFileThatIsThereStaysIfThereIsNothingToWrite) {
  File file("kept.html");
  std::ofstream(file.path()) << "kept";
  ExploreArguments arguments = scenario("counter");
  arguments.html = file.path();
  EXPECT_EQ(run(arguments).status, 0);
  EXPECT_EQ(file.text(), "kept");
}

TEST(ExploreCommand, AFullDiskIsNamed) {
  ExploreArguments arguments = scenario("racy-counter");
  arguments.html = "/dev/full";
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("cannot write \"/dev/full\": No space left on device"));
}

TEST(ExploreCommand, ListNamesEveryScenario) {
  ExploreArguments arguments;
  arguments.list = true;
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, HasSubstr("racy-counter\n    Two agents count; something is lost.\n"));
}

TEST(ExploreCommand, BadUsageSaysWhatIsWrong) {
  const auto refused = [](const ExploreArguments& arguments) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.status, 2) << ran.errors;
    EXPECT_THAT(ran.out, IsEmpty());
    return ran.errors;
  };
  EXPECT_THAT(refused({}), HasSubstr("which scenario?"));
  EXPECT_THAT(refused(scenario("racy-conter")), HasSubstr("did you mean racy-counter"));
  EXPECT_THAT(refused(scenario("zzzzzz")), HasSubstr("; --list shows all"));
  ExploreArguments arguments = scenario("counter");
  arguments.gpu = "volta";
  EXPECT_THAT(refused(arguments), HasSubstr("hopper and ampere"));
  arguments = scenario("counter");
  arguments.strategy = "dfs";
  EXPECT_THAT(refused(arguments), HasSubstr("exhaustive"));
  arguments = scenario("counter");
  arguments.replay = "vAB";
  EXPECT_THAT(refused(arguments), HasSubstr("not a replay token"));
  arguments = scenario("all");
  arguments.replay = sim::Token().text();
  EXPECT_THAT(refused(arguments), HasSubstr("one scenario"));
  arguments = scenario("counter");
  arguments.schedules = 0;
  EXPECT_THAT(refused(arguments), HasSubstr("give --seconds"));
  for (const double seconds : {-1.0, 0.0}) {
    arguments.seconds = seconds;
    EXPECT_THAT(refused(arguments), HasSubstr("--seconds takes a time above 0"));
  }
}

TEST(NearNames, AreTheNearestFirst) {
  EXPECT_THAT(near_names("counter", kScenarios), ElementsAre("counter", "racy-counter"));
  EXPECT_THAT(near_names("conter", kScenarios), ElementsAre("counter"));
  EXPECT_THAT(near_names("message", kScenarios), ElementsAre("stale-message"));
  EXPECT_THAT(near_names("x", kScenarios), IsEmpty());
}

TEST(Progress, SaysHowFarItIs) {
  const sim::Progress progress{500, 31, 0.5, 0.25};
  EXPECT_EQ(progress_text("put", progress, 2000, 200),
            "put  [#####...............]  25%  500 of 2000  1000/s  31 outcomes  0:02 left");
  EXPECT_EQ(progress_text("put", {500, 31, 0.5, 0}, 0, 200), "put  500  1000/s  31 outcomes");
  EXPECT_EQ(progress_text("put", progress, 2000, 79),
            "put  [#####...............]  25%  500 of 2000  1000/s  31 outcomes  0:02 left");
  EXPECT_EQ(progress_text("put", progress, 2000, 70),
            "put  [#####...............]  25%  500 of 2000  1000/s  0:02 left");
  EXPECT_EQ(progress_text("put", progress, 2000, 60),
            "put  [#####...............]  25%  500 of 2000  0:02 left");
  EXPECT_EQ(progress_text("put", progress, 2000, 40), "put  25%  500 of 2000  0:02 left");
  EXPECT_EQ(progress_text("put", progress, 2000, 20), "put  25%  0:02 left");
  EXPECT_EQ(progress_text("put", progress, 2000, 8), "put  25%");
  EXPECT_THAT(progress_text("put", {1, 1, 3661, 0.5}, 2, 200), HasSubstr("1:01:01 left"));
}

TEST(Progress, IsWrittenOnATerminalOnlyAndTakenOff) {
  std::ostringstream out;
  {
    ProgressLine none(out, 0);
    none.show("text");
  }
  EXPECT_EQ(out.str(), "");
  {
    ProgressLine line(out, 80);
    line.show("one");
    line.show("two");
  }
  EXPECT_EQ(out.str(), "one\r\x1b[Ktwo\r\x1b[K");
}

}  // namespace
}  // namespace gdakit::tools
