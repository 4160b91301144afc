// Tables, their JSON, and medians.
#include "bench/report.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>

#include "bench/statistics.h"
#include "tests/examples/program.h"

namespace gdakit::bench {
namespace {

using testing::HasSubstr;

Report some_report() {
  Report report("some_bench");
  report.add_fact("gpu", "made up");
  Table& table =
      report.add_table("put and \"quiet\"", {{"size", "B"}, {"note", ""}, {"BW", "GB/s"}}, "puts");
  table.add_row({8, "small", 0.123456});
  table.add_row({std::uint64_t{67108864}, Cell(), 1234.5});
  report.add_note("a note");
  return report;
}

TEST(Cell, WholeNumbersStandExactly) {
  EXPECT_EQ(Cell(67108864).text(), "67108864");
  EXPECT_EQ(Cell(0.123456).text(), "0.1235");
  EXPECT_EQ(Cell(1234.5).text(), "1234");
  EXPECT_EQ(Cell("text").text(), "text");
  EXPECT_EQ(Cell().text(), "");
}

TEST(Report, PrintsColumnsWithUnitsOneBelowTheOther) {
  test::TemporaryFile file;
  std::FILE* const out = std::fopen(file.path().c_str(), "w");
  ASSERT_NE(out, nullptr);
  some_report().print(out);
  std::fclose(out);
  EXPECT_EQ(file.text(),
            "gpu: made up\n"
            "\n# put and \"quiet\"\n"
            "size (B)  note   BW (GB/s)\n"
            "8         small  0.1235\n"
            "67108864         1234\n"
            "\na note\n");
}

TEST(Report, JsonKeepsNumbersAndGaps) {
  test::TemporaryFile file;
  ASSERT_TRUE(some_report().write_json(file.path()));
  std::string text = file.text();
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_THAT(text, HasSubstr(R"("bench":"some_bench","gpu":{"gpu":"madeup"})"));
  EXPECT_THAT(text, HasSubstr(R"("name":"puts","title":"putand\"quiet\"")"));
  EXPECT_THAT(text, HasSubstr(R"({"name":"size","unit":"B"})"));
  EXPECT_THAT(text, HasSubstr(R"("rows":[[8,"small",0.123456],[67108864,null,1234.5]])"));
  EXPECT_THAT(text, HasSubstr(R"("notes":["anote"])"));
}

TEST(Report, AFileThatCannotBeWrittenIsAnError) {
  const Result<void> written = some_report().write_json("no/such/folder/figures.json");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), HasSubstr("no/such/folder/figures.json"));
}

TEST(Quantile, IsASampleThatSoManyDoNotExceed) {
  std::vector<int> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(i);
  EXPECT_EQ(median(samples), 50);
  EXPECT_EQ(quantile(samples, 0.99), 99);
  EXPECT_EQ(quantile(samples, 1.0), 100);
  EXPECT_EQ(quantile(samples, 1e-9), 1);
  EXPECT_EQ(median(std::vector<int>{7}), 7);
}

}  // namespace
}  // namespace gdakit::bench
