// `gdakit litmus` with tests of the NIC half.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/litmus_run.h"

namespace gdakit::tools {
namespace {

using testing::HasSubstr;

constexpr const char* kFile = "tests/world/litmus/doorbell-no-fence.niclitmus";

struct Ran {
  int status;
  std::string out;
  std::string errors;
};

Ran run(const std::string& file, const std::string& mode = "exhaustive", bool json = false) {
  LitmusArguments arguments;
  arguments.files = {file};
  arguments.mode = mode;
  arguments.json = json;
  std::ostringstream out, errors;
  const int status = run_litmus(arguments, out, errors);
  return {status, out.str(), errors.str()};
}

// A copy of the file in which each allowed verdict is called forbidden.
std::string turned_round() {
  std::ifstream file(kFile);
  std::stringstream text;
  text << file.rdbuf();
  std::string all = text.str();
  for (std::size_t at = 0; (at = all.find(": allowed", at)) != all.npos; ++at) {
    all.replace(at, 9, ": forbidden");
  }
  const std::string path =
      testing::TempDir() + "turned-round-" + std::to_string(::getpid()) + ".niclitmus";
  std::ofstream(path) << all;
  return path;
}

TEST(NicLitmusCommand, ChecksEveryVerdict) {
  const Ran ran = run(kFile);
  EXPECT_EQ(ran.status, 0) << ran.out << ran.errors;
  EXPECT_THAT(ran.out, HasSubstr("doorbell-no-fence"));
}

TEST(NicLitmusCommand, FailsWhenAVerdictDoesNotHold) {
  const std::string file = turned_round();
  const Ran ran = run(file);
  std::filesystem::remove(file);
  EXPECT_EQ(ran.status, 1) << ran.out << ran.errors;
}

TEST(NicLitmusCommand, RunsAtRandomAndPrintsJson) {
  const Ran ran = run(kFile, "random", true);
  EXPECT_EQ(ran.status, 0) << ran.out << ran.errors;
  EXPECT_THAT(ran.out, HasSubstr("\"holds\": true"));
}

TEST(NicLitmusCommand, NamesAFileThatIsNotThere) {
  const Ran ran = run("nowhere.niclitmus");
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.errors, HasSubstr("nowhere.niclitmus"));
}

}  // namespace
}  // namespace gdakit::tools
