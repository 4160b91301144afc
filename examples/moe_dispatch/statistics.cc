#include "examples/moe_dispatch/statistics.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace moe {
namespace {

void print_row(std::size_t pe, const PeStatistics& row) {
  std::printf("%4zu %8" PRIu64 " %14" PRIu64 " %18" PRIu64 " %13" PRIu64 " %15" PRIu64 " %8" PRIu64
              " %10" PRIu64 " %8" PRIu64 " %12.1f %11.1f\n",
              pe, row.tokens, row.messages_sent, row.messages_received, row.nic.bytes_sent,
              row.nic.bytes_received, row.nic.wqes, row.nic.doorbells, row.nic.cqes,
              row.dispatch_us, row.combine_us);
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
  std::printf("a step of %u tokens a PE, %.1f MB each way: dispatch %.1f us, combine %.1f us\n",
              shape.batch, megabytes, dispatch_us, combine_us);
}

}  // namespace

void print_table(std::span<const PeStatistics> all, const Shape& shape) {
  std::printf("%4s %8s %14s %18s %13s %15s %8s %10s %8s %12s %11s\n", "PE", "tokens",
              "messages sent", "messages received", "bytes sent", "bytes received", "WQEs",
              "doorbells", "CQEs", "dispatch us", "combine us");
  for (std::size_t pe = 0; pe < all.size(); ++pe) print_row(pe, all[pe]);
  print_load(all, shape);
  print_times(all, shape);
}

}  // namespace moe
