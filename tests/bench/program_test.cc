// The frame of a bench: lists among its options.
#include "bench/program.h"

#include <gmock/gmock.h>

#include "tests/job/variable.h"

namespace gdakit::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Given {
  std::vector<std::uint64_t> numbers = {7};
  std::vector<std::string> words = {"red"};
  bool ran = false;
  int status = -1;
};

Given parse(std::vector<const char*> arguments) {
  Given given;
  Program program("some_bench", "What is it that is given?", Needs::nothing);
  program.add_numbers("--numbers", &given.numbers, "Some numbers");
  program.add_choices("--words", &given.words, {"red", "green", "blue"}, "Some words");
  arguments.insert(arguments.begin(), "some_bench");
  arguments.push_back(nullptr);
  given.status = program.main(static_cast<int>(arguments.size()) - 1,
                              const_cast<char**>(arguments.data()), [&](Report&) -> Result<void> {
                                given.ran = true;
                                return {};
                              });
  return given;
}

TEST(Program, WithoutAListTheDefaultStands) {
  const Given given = parse({});
  EXPECT_EQ(given.status, 0);
  EXPECT_THAT(given.numbers, ElementsAre(7));
  EXPECT_THAT(given.words, ElementsAre("red"));
}

TEST(Program, AListTakesTheDefaultsPlace) {
  const Given given = parse({"--numbers", "2,3,4", "--words", "green,blue"});
  EXPECT_EQ(given.status, 0);
  EXPECT_THAT(given.numbers, ElementsAre(2, 3, 4));
  EXPECT_THAT(given.words, ElementsAre("green", "blue"));
}

TEST(Program, AWrongPartOfAListIsAWrongArgument) {
  for (const auto& [option, value] : {std::pair{"--numbers", "2,many"}, {"--words", "red,grey"}}) {
    const Given given = parse({option, value});
    EXPECT_EQ(given.status, 2) << option;
    EXPECT_FALSE(given.ran) << option;
  }
}

std::string printed_by(std::vector<const char*> arguments) {
  testing::internal::CaptureStdout();
  Program program("some_bench", "What is it that is printed?", Needs::nothing);
  arguments.insert(arguments.begin(), "some_bench");
  arguments.push_back(nullptr);
  program.main(static_cast<int>(arguments.size()) - 1, const_cast<char**>(arguments.data()),
               [&](Report& report) -> Result<void> {
                 report.add_table("puts", {{"size", "B"}, {"median", "us"}}).add_row({8, 3});
                 return {};
               });
  return testing::internal::GetCapturedStdout();
}

TEST(Program, PrintsLinesOfPerftestsByOptionOrAsThoseAreTold) {
  const std::string line = "&&&& PERF some_bench___puts___size__8___median 3.000000 -us\n";
  EXPECT_THAT(printed_by({}), HasSubstr("# puts\n"));
  EXPECT_EQ(printed_by({"--perf-lines"}), line);
  const testing_job::Variable told("NVSHMEM_MACHINE_READABLE_OUTPUT", "1");
  EXPECT_EQ(printed_by({}), line);
}

}  // namespace
}  // namespace gdakit::bench
