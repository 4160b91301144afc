// What sim/test.h promises to those who test kernels of their own.
#include "sim/test.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/explore.h"  // the former name
#include "tests/users/mail.h"

namespace gdakit::users {
namespace {

using sim::Exploration;
using sim::FindingKind;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

template <class Kernel>
Exploration explored(const sim::ReportOptions& report = {}) {
  sim::World world("hand", {.pes = 2});
  set_up<Kernel>(world);
  return sim::explore_in_test(world, {.schedules = 500}, report);
}

void expect_found(const Exploration& found, FindingKind kind) {
  ASSERT_FALSE(found.passed()) << found.report();
  EXPECT_STREQ(finding_name(found.failure->result.finding), finding_name(kind)) << found.report();
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The code in a header's opening comment: its lines are those that are indented.
std::string tutorial_of(const std::string& header) {
  std::istringstream lines(header.substr(header.find("//   #include")));
  std::string code;
  for (std::string line; std::getline(lines, line);) {
    if (line == "//") {
      code += "\n";
    } else if (line.substr(0, 5) == "//   ") {
      code += line.substr(5) + "\n";
    } else {
      break;
    }
  }
  return code.substr(0, code.find_last_not_of('\n') + 1) + "\n";
}

TEST(TestHeader, TutorialIsCompiledAsItStands) {
  const std::string compiled = text_of("tests/users/tutorial_test.cc");
  ASSERT_THAT(compiled, HasSubstr("#include")) << "run the test from the root of the sources";
  EXPECT_EQ(compiled.substr(compiled.find("#include")), tutorial_of(text_of("sim/test.h")));
}

TEST(UserKernel, MissingAcquireIsFound) {
  const Exploration found = explored<BadHand>();
  expect_found(found, FindingKind::race);
  EXPECT_THAT(found.report(), HasSubstr("PE 1 data"));
  EXPECT_THAT(found.report(), HasSubstr("mail.h:")) << "the load's place in the source";
  EXPECT_THAT(found.report(), HasSubstr("missing: between"));
}
TEST(UserKernel, WithTheAcquirePasses) {
  const Exploration found = explored<GoodHand>();
  EXPECT_TRUE(found.passed()) << found.report();
}
TEST(UserKernel, AcquireOfTooNarrowAScopeIsFound) {
  expect_found(explored<Hand<Poll<order::Acquire<Scope::gpu>>>>(), FindingKind::race);
}
TEST(UserKernel, PollByWeakLoadsIsFound) {
  expect_found(explored<Hand<PollWeakly>>(), FindingKind::weak_poll);
}
TEST(UserKernel, OfGdakitsCallsAlonePasses) {
  const Exploration found = explored<Hand<WaitUntil>>();
  EXPECT_TRUE(found.passed()) << found.report();
}

// A wait that forgets to spin: nobody else would ever run, so that the run cannot end.
struct PollWithoutSpin {
  template <class Pe>
  void operator()(Pe& pe, const Word* flag) const {
    while (pe.machine().load(order::Acquire<Scope::system>{}, flag) == 0) {
    }
  }
};
struct WaitForNobody {
  Word* word;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    while (m.load(order::Acquire<Scope::gpu>{}, word) == 0) m.spin(Site::user);
  }
};
TEST(UserKernel, LoopWithoutSpinIsFound) {
  const Exploration found = explored<Hand<PollWithoutSpin>>();
  expect_found(found, FindingKind::hang);
  EXPECT_THAT(found.report(), HasSubstr("some loop makes no progress"));
  EXPECT_THAT(found.report(), HasSubstr("calls m.spin(Site::user) in every turn"));
  EXPECT_THAT(found.report(), ContainsRegex("thread 0 ran last, at test_header_test.cc:[0-9]+;"));
}

TEST(UserKernel, AHangIsToldOfOnce) {
  sim::World world("alone", {.pes = 1});
  world.launch({.blocks = 1, .threads = 1}, WaitForNobody{world.allocate<Word>("word", 1)});
  const Exploration found = sim::explore_in_test(world, {.schedules = 2});
  expect_found(found, FindingKind::hang);
  EXPECT_THAT(found.report(), StartsWith("alone: hang: nobody can go on:\n"
                                         "  PE 0 block 0 thread 0 waits for something of its own, "
                                         "at test_header_test.cc:"));
}

TEST(ExploreInTest, SaysHowToReplay) {
  const Exploration found = explored<BadHand>();
  ASSERT_FALSE(found.passed());
  EXPECT_THAT(found.report(), HasSubstr("replay    sim::explore_in_test(world, {}, {.replay = \"" +
                                        found.failure->token.text() + "\"});"));
}
TEST(ExploreInTest, ReplaysTheRunThatATokenNames) {
  const Exploration found = explored<BadHand>();
  ASSERT_FALSE(found.passed());
  for (const std::string& token : {found.failure->token.text(), found.failure->found_as.text()}) {
    const Exploration again = explored<BadHand>({.replay = token});
    expect_found(again, FindingKind::race);
    EXPECT_EQ(again.executions, 1u);
    EXPECT_EQ(again.failure->token.text(), token);
    EXPECT_EQ(again.failure->result.text, found.failure->result.text);
  }
}
TEST(ExploreInTest, RefusesATokenThatIsNone) {
  const Exploration found = explored<GoodHand>({.replay = "v9VC"});
  expect_found(found, FindingKind::setup);
  EXPECT_THAT(found.report(), StartsWith("hand: set-up: ReportOptions::replay: "));
}

class Page : public ::testing::Test {
 protected:
  // Of this process alone: tests run side by side.
  Page()
      : path_(std::filesystem::path(::testing::TempDir()) /
              ("gdakit-users-page-" + std::to_string(::getpid()) + ".html")) {}
  ~Page() override { std::filesystem::remove(path_); }

  std::filesystem::path path_;
};

TEST_F(Page, ShowsTheFailingRun) {
  const Exploration found = explored<BadHand>({.page = path_.string()});
  ASSERT_FALSE(found.passed());
  EXPECT_THAT(found.report(), HasSubstr("page      " + path_.string() + "\n"));
  EXPECT_THAT(text_of(path_), HasSubstr(found.failure->token.text()));
}
TEST_F(Page, IsNotWrittenOfARunThatPasses) {
  EXPECT_TRUE(explored<GoodHand>({.page = path_.string()}).passed());
  EXPECT_FALSE(std::filesystem::exists(path_));
}
TEST_F(Page, ThatCannotBeWrittenIsReported) {
  const Exploration found = explored<BadHand>({.page = path_.string() + ".none/page.html"});
  ASSERT_FALSE(found.passed());
  EXPECT_THAT(found.report(), HasSubstr("cannot write \"" + path_.string() + ".none/page.html\""));
}
TEST_F(Page, IsOfNoConcernUnlessAskedFor) {
  EXPECT_THAT(explored<BadHand>().report(), Not(HasSubstr("\n  page ")));
}

}  // namespace
}  // namespace gdakit::users
