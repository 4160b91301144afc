// Figures in the form of NVSHMEM's perftests.
#include "bench/perf_lines.h"

#include <gmock/gmock.h>

#include "tests/examples/program.h"

namespace gdakit::bench {
namespace {

std::string lines_of(const Report& report) {
  test::TemporaryFile file;
  std::FILE* const out = std::fopen(file.path().c_str(), "w");
  if (out == nullptr) return "no file";
  print_perf_lines(report, out);
  std::fclose(out);
  return file.text();
}

TEST(PerfLines, NameTheTableTheSizeAndTheColumnAndSayWhatIsBetter) {
  Report report("some_bench");
  Table& table =
      report.add_table("reduce (sum), 2 PEs", {{"size", "B"}, {"block", "us"}, {"BW", "GB/s"}});
  table.add_row({4, 7.25, 0.5});
  table.add_row({std::uint64_t{67108864}, Cell(), 1234.5});
  EXPECT_EQ(lines_of(report),
            "&&&& PERF some_bench___reduce_sum_2_PEs___size__4___block 7.250000 -us\n"
            "&&&& PERF some_bench___reduce_sum_2_PEs___size__4___BW 0.500000 +GB/s\n"
            "&&&& PERF some_bench___reduce_sum_2_PEs___size__67108864___BW 1234.500000 +GB/s\n");
}

TEST(PerfLines, HaveARowsWordsInItsName) {
  Report report("some_bench");
  report.add_table("puts", {{"size", "B"}, {"scope", ""}, {"median", "us"}})
      .add_row({8, "a warp", 3});
  EXPECT_EQ(lines_of(report),
            "&&&& PERF some_bench___puts_a_warp___size__8___median 3.000000 -us\n");
}

TEST(PerfLines, AreOfTablesBySizeOnly) {
  Report report("some_bench");
  report.add_table("puts", {{"queues", ""}, {"rate", "M/s"}}).add_row({8, 3});
  EXPECT_EQ(lines_of(report), "");
}

}  // namespace
}  // namespace gdakit::bench
