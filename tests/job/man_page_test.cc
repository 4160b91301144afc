// The manual page, as `man` shows it.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/launched.h"

namespace gdakit::testing_job {
namespace {

using testing::HasSubstr;

class ManPage : public testing::Test {
 protected:
  void SetUp() override {
    shown_ = command({"/bin/sh", "-c", "man --version"});
    if (!shown_.output.starts_with("man ")) GTEST_SKIP() << "no man (Debian package: man-db)";
    shown_ =
        command({"/bin/sh", "-c", "LC_ALL=C MANWIDTH=120 man --warnings -l '" GDAKIT_MAN_PAGE "'"});
  }

  Outcome shown_;
};

TEST_F(ManPage, IsShownWithoutWarnings) {
  EXPECT_EQ(shown_.status, 0);
  EXPECT_EQ(shown_.errors, "");
  EXPECT_THAT(shown_.output, HasSubstr("gdakit - GPU-initiated RDMA that can be tested anywhere"));
}

TEST_F(ManPage, HasTheHelpOfEveryCommand) {
  for (const char* name : {"run", "check", "top", "info", "explore", "mutants", "litmus"}) {
    for (std::string line : lines_of(gdakit({name, "--help"}).output)) {
      line.erase(0, line.find_first_not_of(' '));
      EXPECT_THAT(shown_.output, HasSubstr(line)) << name;
    }
  }
}

}  // namespace
}  // namespace gdakit::testing_job
