#include "examples/moe_dispatch/statistics.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace moe {
namespace {

// 95 columns: `gdakit run` puts the number of the PE in front.
void print_heads() {
  std::printf("%4s %6s %17s %17s %7s %9s %7s %21s\n", "", "", "messages", "megabytes", "", "", "",
              "median us of a step");
  std::printf("%4s %6s %8s %8s %8s %8s %7s %9s %7s %10s %10s\n", "PE", "tokens", "sent", "received",
              "sent", "received", "WQEs", "doorbells", "CQEs", "dispatch", "combine");
}

void print_row(std::size_t pe, const PeStatistics& row) {
  const auto megabytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  std::printf("%4zu %6" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8.3f %8.3f %7" PRIu64 " %9" PRIu64
              " %7" PRIu64 " %10.1f %10.1f\n",
              pe, row.tokens, row.messages_sent, row.messages_received,
              megabytes(row.nic.bytes_sent), megabytes(row.nic.bytes_received), row.nic.wqes,
              row.nic.doorbells, row.nic.cqes, row.dispatch_us, row.combine_us);
}

void print_load(std::span<const PeStatistics> all, const Shape& shape) {
  std::uint64_t messages = 0;
  std::uint64_t least = all[0].least_load;
  std::uint64_t greatest = 0;
  for (const PeStatistics& row : all) {
    messages += row.messages_received;
    least = std::min(least, row.least_load);
    greatest = std::max(greatest, row.greatest_load);
  }
  const double mean = static_cast<double>(messages) / shape.experts;
  std::printf("load of an expert: min %" PRIu64 ", max %" PRIu64
              ", mean %.1f messages; the busiest has %.2f times the mean\n",
              least, greatest, mean, static_cast<double>(greatest) / mean);
}

// The times are the slowest PE's; the bytes those of a full batch.
void print_times(std::span<const PeStatistics> all, const Shape& shape) {
  double dispatch_us = 0;
  double combine_us = 0;
  for (const PeStatistics& row : all) {
    dispatch_us = std::max(dispatch_us, row.dispatch_us);
    combine_us = std::max(combine_us, row.combine_us);
  }
  const double values = static_cast<double>(shape.batch) * shape.top_k * shape.hidden;
  const double megabytes = values * sizeof(float) / 1e6;
  std::printf("a step of %s a PE, %.1f MB each way: dispatch %.1f us, combine %.1f us\n",
              counted(shape.batch, "token").c_str(), megabytes, dispatch_us, combine_us);
}

}  // namespace

std::string counted(std::uint64_t count, const char* what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

void print_table(std::span<const PeStatistics> all, const Shape& shape) {
  print_heads();
  for (std::size_t pe = 0; pe < all.size(); ++pe) print_row(pe, all[pe]);
  print_load(all, shape);
  print_times(all, shape);
}

}  // namespace moe
