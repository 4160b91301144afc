// `gdakit litmus`: what it prints and how it ends.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/litmus/parser.h"
#include "tools/litmus_expectations.h"
#include "tools/litmus_run.h"

namespace gdakit::tools {
namespace {

using sim::litmus::Quantifier;
using testing::HasSubstr;
using testing::Not;

// Files that live as long as the test.
class LitmusCommand : public testing::Test {
 protected:
  LitmusCommand() {
    folder_ = std::filesystem::temp_directory_path() /
              ("gdakit-litmus-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  ~LitmusCommand() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << text;
    return path;
  }

  // Message passing with this store of the flag.
  std::string message(const std::string& name, const std::string& store,
                      const std::string& quantifier) {
    return write(name,
                 "PTX MP\n{ }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.weak x, 1 | "
                 "ld.acquire.gpu r1, y ;\n " +
                     store + " y, 1 | ld.weak r2, x ;\n" + quantifier +
                     " (P1:r1 == 1 /\\ P1:r2 == 0)\n");
  }

  int run(LitmusArguments arguments) {
    out_.str("");
    errors_.str("");
    return run_litmus(arguments, out_, errors_);
  }
  int run(const std::string& file, const std::string& expect = "", bool strict = false) {
    LitmusArguments arguments;
    arguments.files = {file};
    arguments.expect = expect;
    arguments.strict = strict;
    return run(arguments);
  }

  std::filesystem::path folder_;
  std::ostringstream out_, errors_;
};

TEST_F(LitmusCommand, PassesWhatHolds) {
  EXPECT_EQ(run(message("a.litmus", "st.release.gpu", "~exists")), 0);
  EXPECT_THAT(out_.str(), HasSubstr("~exists: never seen in 7 executions (all explored)"));
  EXPECT_THAT(out_.str(), HasSubstr("P1:r1=1 P1:r2=1"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("P1:r1=1 P1:r2=0")));
}

TEST_F(LitmusCommand, FailsOnWhatDoesNotHold) {
  EXPECT_EQ(run(message("a.litmus", "st.relaxed.gpu", "~exists")), 1);
  EXPECT_THAT(out_.str(), HasSubstr("FORBIDDEN OUTCOME SEEN"));
  // A question has no wrong answer.
  EXPECT_EQ(run(message("b.litmus", "st.relaxed.gpu", "exists")), 0);
  EXPECT_THAT(out_.str(), HasSubstr("exists: seen in 1 of"));
  const std::string forall =
      write("c.litmus", "PTX t { } P0@cta 0,gpu 0 ; st.weak x, 1 ; forall (x == 2)");
  EXPECT_EQ(run(forall), 1);
  EXPECT_THAT(out_.str(), HasSubstr("the opposite was seen in 1 of 1"));
}

TEST_F(LitmusCommand, JudgesByTheVerdictsOfAFile) {
  const std::string weak = message("weak.litmus", "st.relaxed.gpu", "exists");
  const std::string strong = message("strong.litmus", "st.release.gpu", "exists");
  const std::string right = write("right.csv",
                                  "file,quantifier,condition,witness_verdict,use\n"
                                  "weak.litmus,exists,\"a, b\",allowed,should-exhibit-weak\n"
                                  "strong.litmus,exists,c,forbidden,must-never\n");
  EXPECT_EQ(run(weak, right, true), 0);
  EXPECT_EQ(run(strong, right, true), 0);
  const std::string wrong = write("wrong.csv", "x/weak.litmus,0\nx/strong.litmus,1\n");
  EXPECT_EQ(run(weak, wrong), 1);
  EXPECT_EQ(run(strong, wrong), 0);
  EXPECT_THAT(out_.str(), HasSubstr("MISSED"));
  EXPECT_EQ(run(strong, wrong, true), 1);
}

TEST_F(LitmusCommand, FindsVerdictsBesideTheTest) {
  const std::string file = message("weak.litmus", "st.relaxed.gpu", "exists");
  EXPECT_EQ(run(file), 0);
  write("verdicts.csv", "file,witness_verdict\nweak.litmus,forbidden\n");
  EXPECT_EQ(run(file), 1);
}

TEST_F(LitmusCommand, TellsUnreadableFromUnsupported) {
  EXPECT_EQ(run((folder_ / "absent.litmus").string()), 2);
  EXPECT_EQ(run(write("bad.litmus", "PTX t { } P0@cta 0,gpu 0 ; st.weak ; exists (x == 0)")), 2);
  const std::string proxy =
      write("proxy.litmus", "PTX t\n{ }\nP0@cta 0,gpu 0 ;\nsuld.weak r1, x ;\nexists (x == 0)");
  EXPECT_EQ(run(proxy), kUnsupportedLitmus);
  EXPECT_THAT(errors_.str(), HasSubstr("proxy.litmus:4: 'suld.weak': the surface proxy"));
  LitmusArguments both;
  both.files = {proxy, message("a.litmus", "st.relaxed.gpu", "~exists")};
  EXPECT_EQ(run(both), 1);
  EXPECT_EQ(run(message("b.litmus", "st.release.gpu", "~exists"), write("bad.csv", "a,b,c\n")), 2);
  EXPECT_THAT(errors_.str(), HasSubstr("bad.csv:1:"));
}

TEST_F(LitmusCommand, RunsAtRandomAsOftenAsAsked) {
  LitmusArguments arguments;
  arguments.files = {message("a.litmus", "st.relaxed.gpu", "exists")};
  arguments.mode = "random";
  arguments.runs = 500;
  EXPECT_EQ(run(arguments), 0);
  EXPECT_THAT(out_.str(), HasSubstr("of 500 random executions"));
  const std::string first = out_.str();
  EXPECT_EQ(run(arguments), 0);
  EXPECT_EQ(out_.str(), first);
  arguments.seed = 2;
  EXPECT_EQ(run(arguments), 0);
  EXPECT_NE(out_.str(), first);
}

TEST_F(LitmusCommand, SaysWhenNotAllWasExplored) {
  LitmusArguments arguments;
  arguments.files = {message("a.litmus", "st.release.gpu", "~exists")};
  arguments.runs = 3;
  EXPECT_EQ(run(arguments), 0);
  EXPECT_THAT(out_.str(), HasSubstr("NOT all explored"));
}

TEST_F(LitmusCommand, ReplaysAWitness) {
  const std::string file = message("a.litmus", "st.relaxed.gpu", "exists");
  EXPECT_EQ(run(file), 0);
  const std::string text = out_.str();
  const std::size_t at = text.find("--replay ");
  ASSERT_NE(at, std::string::npos);
  LitmusArguments arguments;
  arguments.files = {file};
  arguments.replay = text.substr(at + 9, text.find('\n', at) - at - 9);
  EXPECT_EQ(run(arguments), 0);
  EXPECT_THAT(out_.str(), HasSubstr("P1:r1=1 P1:r2=0"));
  EXPECT_THAT(out_.str(), HasSubstr("stale by 1"));
  arguments.replay = "vMistyped";
  EXPECT_EQ(run(arguments), 2);
}

TEST_F(LitmusCommand, PrintsJson) {
  LitmusArguments arguments;
  arguments.files = {
      message("a.litmus", "st.relaxed.gpu", "~exists"),
      write("b.litmus", "PTX t { } P0@cta 0,gpu 0 ; tld.weak r1, x ; exists (x==0)")};
  arguments.json = true;
  EXPECT_EQ(run(arguments), 1);
  EXPECT_THAT(out_.str(), HasSubstr("\"quantifier\": \"~exists\""));
  EXPECT_THAT(out_.str(), HasSubstr("\"complete\": true"));
  EXPECT_THAT(out_.str(), HasSubstr("\"P1:r1\": 1"));
  EXPECT_THAT(out_.str(), HasSubstr("\"judgement\": \"forbidden outcome seen\""));
  EXPECT_THAT(out_.str(), HasSubstr("\"judgement\": \"unsupported\""));
}

TEST(LitmusExpectations, ReadTheTableOfPassesAndFailures) {
  auto all = Expectations::parse("litmus/PTX/a.litmus,1\nlitmus/PTX/b.litmus,0\n", "t.csv");
  ASSERT_TRUE(all);
  EXPECT_FALSE(all->find("a.litmus", Quantifier::exists)->forbidden);
  EXPECT_TRUE(all->find("a.litmus", Quantifier::not_exists)->forbidden);
  EXPECT_TRUE(all->find("a.litmus", Quantifier::forall)->forbidden);
  EXPECT_TRUE(all->find("b.litmus", Quantifier::exists)->forbidden);
  EXPECT_FALSE(all->find("b.litmus", Quantifier::forall)->forbidden);
  EXPECT_EQ(all->find("c.litmus", Quantifier::exists), nullptr);
  EXPECT_FALSE(Expectations::parse("file,witness_verdict\na.litmus,perhaps\n", "t.csv"));
  EXPECT_FALSE(Expectations::parse("a.litmus,2\n", "t.csv"));
}

}  // namespace
}  // namespace gdakit::tools
